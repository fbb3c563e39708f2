// Moves are executed on tensors of integers, in drawn forms, and counted in forms whose bytes are known.
#include "net/moves.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>

#include <gmock/gmock.h>

namespace dlhost::net {
namespace {

// A worker's box of a tensor, with the values of its elements.
struct Local {
  Box box;
  std::vector<std::int64_t> values;

  explicit Local(const Box& of) : box(of), values(static_cast<std::size_t>(of.count())) {}
  std::int64_t& at(const Shape& element) {
    std::int64_t index = 0;
    for (std::size_t axis = 0; axis < element.rank(); ++axis)
      index = index * box.shape[axis] + element[axis] - box.first[axis];
    return values.at(static_cast<std::size_t>(index));
  }
};

void each(const Box& box, const std::function<void(const Shape&)>& body) {
  Shape element = box.first;
  if (box.is_empty()) return;
  while (true) {
    body(element);
    std::size_t axis = element.rank();
    while (axis > 0 && element[axis - 1] + 1 == box.last(axis - 1)) {
      --axis;
      element[axis] = box.first[axis];
    }
    if (axis == 0) return;
    ++element[axis - 1];
  }
}

std::int64_t value_of(const Shape& element, std::uint32_t term) {
  std::int64_t value = term + 1;
  for (const std::int64_t index : element) value = value * 101 + index;
  return value;
}

std::vector<Local> filled(const Form& form) {
  std::vector<Local> workers;
  for (const Held& held : form.all()) {
    workers.emplace_back(held.box);
    each(held.box, [&](const Shape& element) { workers.back().at(element) = value_of(element, held.term); });
  }
  return workers;
}

// What the header says of a list of moves.
std::vector<Local> moved(const Form& from, const Form& to, const std::vector<Move>& list) {
  auto sources = filled(from);
  std::vector<Local> workers;
  for (const Held& held : to.all()) workers.emplace_back(held.box);
  for (const bool gathers : {false, true})
    for (const Move& move : list) {
      if (move.gathers != gathers) continue;
      Local& source = gathers ? workers.at(move.from) : sources.at(move.from);
      EXPECT_TRUE(source.box.contains(move.box));
      EXPECT_TRUE(workers.at(move.to).box.contains(move.box));
      each(move.box, [&](const Shape& element) {
        std::int64_t& value = workers.at(move.to).at(element);
        value = source.at(element) + (move.adds ? value : 0);
      });
    }
  return workers;
}

std::int64_t sum_of_terms(const Form& form, const Shape& element) {
  std::vector<std::uint32_t> terms;
  for (const Held& held : form.all())
    if (held.box.contains({.first = element, .shape = Shape(std::vector<std::int64_t>(element.rank(), 1))}))
      terms.push_back(held.term);
  std::ranges::sort(terms);
  terms.erase(std::unique(terms.begin(), terms.end()), terms.end());
  return std::accumulate(terms.begin(), terms.end(), std::int64_t{0},
                         [&](std::int64_t sum, std::uint32_t term) { return sum + value_of(element, term); });
}

class Draws {
 public:
  explicit Draws(unsigned seed) : draws_(seed) {}
  std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(draws_() % static_cast<unsigned>(bound)); }
  Shape shape() {
    Shape drawn;
    for (std::int64_t rank = 1 + below(3); rank > 0; --rank) drawn.push_back(1 + below(7));
    return drawn;
  }
  std::vector<std::int64_t> bounds(std::int64_t length, std::uint32_t pieces) {
    std::vector<std::int64_t> bounds{0, length};
    while (bounds.size() < pieces + 1) bounds.push_back(below(length + 1));
    std::ranges::sort(bounds);
    return bounds;
  }
  Form form(const Shape& shape, std::uint32_t workers, bool summands) {
    switch (below(summands ? 6 : 4)) {
    case 0: return Form::whole(shape, workers);
    case 1: return Form::at(shape, workers, static_cast<std::uint32_t>(below(workers)));
    case 2: {
      const auto axis = static_cast<std::size_t>(below(static_cast<std::int64_t>(shape.rank())));
      return Form::cut(shape, axis, bounds(shape[axis], workers));
    }
    case 3: return boxes(shape, workers, false);
    case 4: return Form::summands(shape, workers);
    default: return boxes(shape, workers, true);
    }
  }

 private:
  // Overlapping boxes, as in grids and halos; the first worker has the whole, so that no element is missing.
  Form boxes(const Shape& shape, std::uint32_t workers, bool summands) {
    std::vector<Held> held{{.box = Box::whole(shape)}};
    while (held.size() < workers) {
      Box box = Box::whole(shape);
      for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
        const std::int64_t first = below(shape[axis]);
        box = box.with(axis, first, first + 1 + below(shape[axis] - first));
      }
      held.push_back({.box = box, .term = summands ? static_cast<std::uint32_t>(below(3)) : 0});
    }
    return {shape, std::move(held)};
  }

  std::mt19937 draws_;
};

TEST(Moves, MakeOneFormFromAnother) {
  Draws draws(1);
  for (int n = 0; n < 4000; ++n) {
    SCOPED_TRACE(testing::Message() << "drawn " << n);
    const Shape shape = draws.shape();
    const auto workers = static_cast<std::uint32_t>(1 + draws.below(5));
    const Form from = draws.form(shape, workers, true), to = draws.form(shape, workers, false);
    std::vector<std::uint32_t> machines(workers);
    for (auto& machine : machines) machine = static_cast<std::uint32_t>(draws.below(2));
    const auto list = moves(from, to, machines);
    if (from == to) {
      ASSERT_TRUE(list.empty());
      continue;
    }
    auto after = moved(from, to, list);
    for (std::uint32_t w = 0; w < workers; ++w)
      each(to.of(w).box, [&](const Shape& element) {
        ASSERT_EQ(after[w].at(element), sum_of_terms(from, element)) << "of worker " << w;
      });
  }
}

std::vector<std::int64_t> even(std::int64_t length, std::uint32_t pieces) {
  std::vector<std::int64_t> bounds;
  for (std::uint32_t i = 0; i <= pieces; ++i) bounds.push_back(length * i / pieces);
  return bounds;
}

TEST(Moves, AreAsManyBytesAsTheClosedFormsSay) {
  for (const std::uint32_t workers : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(testing::Message() << workers << " workers");
    const Shape shape{48, 72, 5};
    const std::int64_t n = workers, all = shape.count();
    const Form whole = Form::whole(shape, workers), last = Form::at(shape, workers, workers - 1);
    const Form rows = Form::cut(shape, 0, even(48, workers)), columns = Form::cut(shape, 1, even(72, workers));
    const Form summands = Form::summands(shape, workers);
    const auto count = [](const Form& from, const Form& to) { return crossing(moves(from, to)); };
    EXPECT_EQ(count(rows, whole), (n - 1) * all);
    EXPECT_EQ(count(rows, columns), (n - 1) * all / n);
    EXPECT_EQ(count(rows, last), (n - 1) * all / n);
    EXPECT_EQ(count(last, rows), (n - 1) * all / n);
    EXPECT_EQ(count(last, whole), (n - 1) * all);
    EXPECT_EQ(count(summands, columns), (n - 1) * all);
    EXPECT_EQ(count(summands, last), (n - 1) * all);
    EXPECT_EQ(count(summands, whole), 2 * (n - 1) * all);
    EXPECT_EQ(count(whole, rows), 0);
    EXPECT_EQ(count(rows, rows), 0);
  }
}

TEST(Moves, AreOneBoxForEachPair) {
  const Shape shape{60, 60};
  const Form rows = Form::cut(shape, 0, even(60, 4)), columns = Form::cut(shape, 1, even(60, 4));
  EXPECT_EQ(moves(rows, columns).size(), 16U);
  EXPECT_EQ(moves(rows, Form::whole(shape, 4)).size(), 16U);
  const std::int64_t uneven[] = {0, 7, 11, 50, 60};
  for (const Move& move : moves(rows, Form::cut(shape, 0, uneven))) EXPECT_EQ(move.box.shape[1], 60);
}

TEST(Moves, TakeFromTheOwnMachineFirstAndEvenly) {
  const Shape shape{12};
  const std::uint32_t machines[] = {0, 1, 0, 1};
  // Workers 0 and 1 have all, of one machine each.
  std::vector<Held> held(4, {.box = Box::none(1)});
  held[0].box = held[1].box = Box::whole(shape);
  for (const Move& move : moves(Form(shape, held), Form::whole(shape, 4), machines))
    EXPECT_EQ(machines[move.from], machines[move.to]);
  // Of one machine: each of the two sends to one of the others.
  std::vector<std::int64_t> sent(4);
  for (const Move& move : moves(Form(shape, held), Form::whole(shape, 4)))
    if (move.from != move.to) sent[move.from] += move.box.count();
  EXPECT_THAT(sent, testing::ElementsAre(12, 12, 0, 0));
}

TEST(Moves, AddSummandsInTheOrderOfTheirTerms) {
  const Shape shape{9};
  for (const Form& to : {Form::whole(shape, 3), Form::at(shape, 3, 2), Form::cut(shape, 0, even(9, 3))}) {
    std::vector<std::vector<std::uint32_t>> order(3);
    for (const Move& move : moves(Form::summands(shape, 3), to))
      if (!move.gathers) {
        EXPECT_EQ(move.adds, move.from != 0);
        order[move.to].push_back(move.from);
      }
    for (std::uint32_t w = 0; w < 3; ++w) {
      if (to.of(w).box.is_empty()) continue;
      EXPECT_THAT(order[w], testing::ElementsAre(0, 1, 2)) << to_string(to);
    }
  }
}

TEST(Forms, AreEqualIfWorkersHaveTheSame) {
  const Shape shape{6, 2};
  const std::int64_t thirds[] = {0, 2, 4, 6};
  const Form cut = Form::cut(shape, 0, thirds);
  std::vector<Held> apart = cut.all();
  for (std::uint32_t w = 0; w < 3; ++w) apart[w].term = 7 - w; // no two of them overlap
  EXPECT_EQ(Form(shape, apart), cut);
  EXPECT_NE(Form::whole(shape, 3), Form::summands(shape, 3));
  EXPECT_EQ(Form::summands(shape, 3).summed(), Form::whole(shape, 3));
  EXPECT_EQ(Form::summands(shape, 1), Form::at(shape, 1, 0));
}

TEST(Forms, HaveWordsForPeople) {
  const Shape shape{6, 2};
  const std::int64_t thirds[] = {0, 2, 4, 6}, halves[] = {0, 1, 1, 2};
  EXPECT_EQ(to_string(Form::whole(shape, 3)), "whole");
  EXPECT_EQ(to_string(Form::cut(shape, 0, thirds)), "axis 0 in 3");
  EXPECT_EQ(to_string(Form::cut(shape, 1, halves)), "axis 1 in 2");
  EXPECT_EQ(to_string(Form::at(shape, 3, 1)), "on worker 1");
  EXPECT_EQ(to_string(Form::summands(shape, 3)), "summands");
  const auto name = [](const Form& from, const Form& to) { return name_of_moves(from, to); };
  const Form whole = Form::whole(shape, 3), cut = Form::cut(shape, 0, thirds), one = Form::at(shape, 3, 1);
  EXPECT_EQ(name(cut, whole), "gather");
  EXPECT_EQ(name(whole, cut), "slice");
  EXPECT_EQ(name(cut, one), "concat");
  EXPECT_EQ(name(one, cut), "slice");
  EXPECT_EQ(name(one, whole), "split");
  EXPECT_EQ(name(whole, whole), "split");
  EXPECT_EQ(name(one, Form::at(shape, 3, 0)), "bridge");
  EXPECT_EQ(name(Form::summands(shape, 3), whole), "reduce");
  EXPECT_EQ(name(cut, Form::cut(shape, 1, halves)), "exchange");
}

} // namespace
} // namespace dlhost::net
