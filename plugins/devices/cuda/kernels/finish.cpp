#include "finish.h"

#include "columns.h"
#include "vector.h"

namespace dlhost::plugins::cuda {

namespace {

template <class T, int columns_each> struct FinishColumns {
  static constexpr int width = columns_each;
  struct Read {
    Together<typename T::Bits, width> product, addend;
  };
  static constexpr int ahead = rows_ahead(sizeof(Read));
  using Columns = Floats<width>; // the bias
  const void* product;
  void* result;
  Finish finish;
  DLHOST_BODY Columns of(std::int64_t column) const {
    Columns bias;
    for (int i = 0; i < width; ++i) bias.at[i] = finish.bias.data ? finish.bias[column + i] : 0.0F;
    return bias;
  }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const {
    const std::int64_t at = row * finish.channels + column;
    Read read{read_some<T, width>(product, at), {}};
    if (finish.addend.data) read.addend = read_some<T, width>(finish.addend.data, at);
    return read;
  }
  DLHOST_BODY void operator()(const Columns& bias, const Read& read, std::int64_t row, std::int64_t column) const {
    auto values = values_of<T, width>(read.product);
    Columns added{};
    if (finish.addend.data) added = values_of<T, width>(read.addend);
    for (int i = 0; i < width; ++i) values.at[i] = finish.function(values.at[i] + bias.at[i] + added.at[i]);
    store_some<T, width>(result, row * finish.channels + column, values);
  }
};

template <class T, int columns_each> struct BiasColumns {
  static constexpr int width = columns_each;
  using Read = Together<typename T::Bits, width>;
  static constexpr int ahead = rows_ahead(sizeof(Read));
  using Sum = float;
  struct Columns {};
  BiasGradient bias;
  DLHOST_BODY Columns of(std::int64_t) const { return {}; }
  DLHOST_BODY Sum zero() const { return 0; }
  DLHOST_BODY Read read(std::int64_t row, std::int64_t column) const {
    return read_some<T, width>(bias.dy.data, row * bias.channels + column);
  }
  DLHOST_BODY void take(Sum (&sums)[width], const Columns&, const Read& read) const {
    const auto values = values_of<T, width>(read);
    for (int i = 0; i < width; ++i) sums[i] += values.at[i];
  }
  DLHOST_BODY void join(Sum& sum, const Sum& other) const { sum += other; }
  DLHOST_BODY void finish(std::int64_t column, const Sum& sum) const { bias.db.set(column, sum); }
};

bool of_one_type(const FinishAll& all) {
  const DType type = all.product.type;
  return all.result.type == type && (!all.finish.addend.data || all.finish.addend.type == type);
}

} // namespace

void finish_all(WorkStream& stream, std::int64_t count, const FinishAll& all) {
  const Finish& finish = all.finish;
  const bool by_columns =
      finish.inner == 1 && of_one_type(all) &&
      by_type_and_width<4>(
          all.product.type, finish.channels, {all.product.data, all.result.data, finish.addend.data},
          [&](auto type, auto width) {
            each_row(stream, count / finish.channels, finish.channels,
                     FinishColumns<decltype(type), decltype(width)::value>{all.product.data, all.result.data, finish});
          });
  if (!by_columns) each(stream, count, all);
}

std::size_t bias_gradient_room(std::int64_t channels, std::int64_t terms) {
  return std::max(reduce_room<BiasGradient>(channels, terms), column_room<float>(terms, channels));
}

void bias_gradient(WorkStream& stream, std::int64_t terms, const BiasGradient& bias, void* room) {
  const bool by_columns =
      bias.inner == 1 && by_type_and_width<4>(bias.dy.type, bias.channels, {bias.dy.data}, [&](auto type, auto width) {
        reduce_columns(stream, terms, bias.channels, BiasColumns<decltype(type), decltype(width)::value>{bias}, room);
      });
  if (!by_columns) reduce(stream, bias.channels, terms, bias, room);
}

} // namespace dlhost::plugins::cuda
