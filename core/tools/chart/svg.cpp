#include "tools/chart/svg.h"

#include <iterator>

#include <fmt/format.h>

namespace dlhost::tools {

namespace {

template <class... Parts> void add(std::string& text, fmt::format_string<Parts...> format, Parts&&... parts) {
  fmt::format_to(std::back_inserter(text), format, std::forward<Parts>(parts)...);
}

// A tenth of a pixel is below visible differences.
std::string pixels(double value) {
  std::string digits = fmt::format("{:.1f}", value);
  if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
  return digits == "-0" ? "0" : digits;
}

} // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view style) {
  add(text_,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
      "<title>{2}</title>\n<style>\n{3}</style>\n",
      pixels(width), pixels(height), escaped(title), style);
}

void Svg::rectangle(Place corner, double width, double height, std::string_view attributes) {
  add(text_, "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" {}/>\n", pixels(corner.x), pixels(corner.y),
      pixels(width), pixels(height), attributes);
}

void Svg::line(Place from, Place to, std::string_view attributes) {
  add(text_, "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" {}/>\n", pixels(from.x), pixels(from.y), pixels(to.x),
      pixels(to.y), attributes);
}

void Svg::curve(std::span<const Place> places, std::string_view attributes, std::string_view title) {
  text_ += "<polyline points=\"";
  for (const Place& place : places) add(text_, "{},{} ", pixels(place.x), pixels(place.y));
  if (!places.empty()) text_.pop_back();
  if (title.empty())
    add(text_, "\" {}/>\n", attributes);
  else
    add(text_, "\" {}><title>{}</title></polyline>\n", attributes, escaped(title));
}

void Svg::dot(Place center, double radius, std::string_view attributes) {
  add(text_, "<circle cx=\"{}\" cy=\"{}\" r=\"{}\" {}/>\n", pixels(center.x), pixels(center.y), pixels(radius),
      attributes);
}

void Svg::text(Place at, std::string_view text, std::string_view attributes) {
  add(text_, "<text x=\"{}\" y=\"{}\" {}>{}</text>\n", pixels(at.x), pixels(at.y), attributes, escaped(text));
}

void Svg::begin_clip(Place corner, double width, double height) {
  add(text_, "<clipPath id=\"clip{}\">", ++clips_);
  rectangle(corner, width, height, "");
  text_.pop_back();
  add(text_, "</clipPath>\n<g clip-path=\"url(#clip{})\">\n", clips_);
}

void Svg::end_group() { text_ += "</g>\n"; }

std::string Svg::finish() {
  text_ += "</svg>\n";
  return std::move(text_);
}

std::string escaped(std::string_view text) {
  std::string safe;
  for (const char letter : text) {
    switch (letter) {
    case '<': safe += "&lt;"; break;
    case '>': safe += "&gt;"; break;
    case '&': safe += "&amp;"; break;
    case '"': safe += "&quot;"; break;
    case '\n':
    case '\t': safe += letter; break;
    default:
      if (static_cast<unsigned char>(letter) < 0x20)
        safe += "\xef\xbf\xbd";
      else
        safe += letter;
    }
  }
  return safe;
}

} // namespace dlhost::tools
