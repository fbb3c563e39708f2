#include <dlhost/plugin.h>

#include <dlhost/layer.h>

namespace dlhost::plugins {

class DeviceConnector final : public Connector {
 public:
  static constexpr std::string_view name = "device";
  struct Options {};
  static Schema schema() { return SchemaOf<Options>("The same feature in the memory of the host or of a device."); }
  explicit DeviceConnector(Options) {}

  Status setup(Setup& s) override {
    DLHOST_TRY(expect_inputs(s, 1, 1));
    s.output("y", s.inputs[0].desc);
    s.reads = {.inputs = false, .outputs = false};
    return {};
  }

  Status prepare(Prepare& p) override {
    if (p.direction() == Direction::within)
      return Status::internal("a device connector stands between two layers of one device");
    const TensorDesc& feature = p.input(0);
    p.gives(0, feature);
    device_ = &p.device();
    bytes_ = device_->bytes(feature);
    forth_ = p.direction();
    back_ = forth_ == Direction::to_host ? Direction::from_host : Direction::to_host;
    return {};
  }

  void compute_feature(const Pass&, Frame& f) const override { copy(f, f.output(0), f.input(0), forth_); }

  void compute_gradient(const Pass&, Frame& f, Wanted wanted) const override {
    if (wants_inputs(wanted) && f.input_gradient(0)) copy(f, f.input_gradient(0), f.output_gradient(0), back_);
  }

 private:
  void copy(Frame& f, void* dst, const void* src, Direction direction) const {
    device_->copy(*f.stream, dst, src, bytes_, direction)
        .ignore("a stream keeps the first error of its work for whoever waits for it");
  }

  Device* device_ = nullptr;
  std::size_t bytes_ = 0;
  Direction forth_ = Direction::within, back_ = Direction::within;
};

} // namespace dlhost::plugins

DLHOST_PLUGIN("1.0", dlhost::plugins::DeviceConnector);
