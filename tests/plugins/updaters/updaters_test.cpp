// Every updater equals its published closed form, as plain code, over several steps with a changing rate.
#include <functional>

#include "updates.h"

namespace dlhost::test {
namespace {

constexpr int steps = 7;
const Numbers start{0.5, -1.25, 2.0, 0.0, 3e-3};

double rate_at(int t) { return 0.05 / t; }

Numbers gradient_at(int t) {
  Numbers gradient;
  for (std::size_t i = 0; i < start.size(); ++i) gradient.push_back(std::sin(1.7 * static_cast<double>(i) + t) / t);
  return gradient;
}

// One element's update: w, its gradient, its own numbers s (0 at first), the rate and the step, counted from 1.
using Form = std::function<double(double w, double g, double* s, double rate, int t)>;

void expect_near(const Numbers& found, const Numbers& wanted, int t) {
  for (std::size_t i = 0; i < wanted.size(); ++i)
    EXPECT_NEAR(found[i], wanted[i], 1e-6 * (std::abs(wanted[i]) + 0.01)) << "element " << i << " after step " << t;
}

class UpdaterTest : public testing::Test {
 protected:
  void expect_form(const std::string& updater, std::vector<TableEntry> options, const Form& form,
                   Factors factors = {}) {
    Updates updates(host_, updater, std::move(options), start);
    Numbers wanted = start;
    std::vector<std::array<double, 3>> own(start.size());
    for (int t = 1; t <= steps; ++t) {
      const Numbers gradient = gradient_at(t);
      updates.update(gradient, rate_at(t), factors);
      for (std::size_t i = 0; i < wanted.size(); ++i)
        wanted[i] = form(wanted[i], factors.gradient_scale * gradient[i], own[i].data(), rate_at(t), t);
      expect_near(updates.value, wanted, t);
    }
  }

  PluginHost host_;
};

TEST_F(UpdaterTest, PlainDescent) {
  expect_form("sgd", {}, [](double w, double g, double*, double rate, int) { return w - rate * g; });
}

TEST_F(UpdaterTest, DescentWithMomentumAndDecay) {
  expect_form("sgd", {{"momentum", value(0.9)}, {"weight_decay", value(0.01)}},
              [](double w, double g, double* v, double rate, int) {
                v[0] = 0.9 * v[0] + g + 0.01 * w;
                return w - rate * v[0];
              });
}

TEST_F(UpdaterTest, ParamsScaleTheirDecayAndCoreScalesGradients) {
  const auto form = [](double w, double g, double* v, double rate, int) {
    v[0] = 0.9 * v[0] + g + 2 * 0.01 * w;
    return w - rate * v[0];
  };
  expect_form("sgd", {{"momentum", value(0.9)}, {"weight_decay", value(0.01)}}, form,
              {.decay_scale = 2, .gradient_scale = 0.25});
}

TEST_F(UpdaterTest, NesterovLooksAhead) {
  expect_form("sgd", {{"momentum", value(0.8)}, {"nesterov", value(true)}},
              [](double w, double g, double* v, double rate, int) {
                v[0] = 0.8 * v[0] + g;
                return w - rate * (g + 0.8 * v[0]);
              });
}

TEST_F(UpdaterTest, MomentumMayHoldTheRate) {
  expect_form("sgd", {{"momentum", value(0.9)}, {"holds_rate", value(true)}},
              [](double w, double g, double* v, double rate, int) {
                v[0] = 0.9 * v[0] + rate * g;
                return w - v[0];
              });
  // Caffe's formula of Nesterov: (1 + momentum) v' - momentum v.
  expect_form("sgd", {{"momentum", value(0.8)}, {"nesterov", value(true)}, {"holds_rate", value(true)}},
              [](double w, double g, double* v, double rate, int) {
                const double before = v[0];
                v[0] = 0.8 * v[0] + rate * g;
                return w - (1.8 * v[0] - 0.8 * before);
              });
}

TEST_F(UpdaterTest, AdagradWithARateThatFalls) {
  expect_form("adagrad", {{"rate_decay", value(0.3)}}, [](double w, double g, double* s, double rate, int t) {
    s[0] += g * g;
    return w - rate / (1 + 0.3 * (t - 1)) * g / (std::sqrt(s[0]) + 1e-10);
  });
}

TEST_F(UpdaterTest, Adagrad) {
  expect_form("adagrad", {{"epsilon", value(1e-8)}}, [](double w, double g, double* s, double rate, int) {
    s[0] += g * g;
    return w - rate * g / (std::sqrt(s[0]) + 1e-8);
  });
}

TEST_F(UpdaterTest, AdagradStartsWhereItIsTold) {
  Updates updates(host_, "adagrad", {{"initial", value(0.1)}}, {1.0});
  updates.update({0.5}, 0.1);
  EXPECT_NEAR(updates.value[0], 1 - 0.1 * 0.5 / std::sqrt(0.1 + 0.25), 1e-7);
}

TEST_F(UpdaterTest, Adadelta) {
  expect_form("adadelta", {{"rho", value(0.95)}}, [](double w, double g, double* s, double rate, int) {
    s[0] = 0.95 * s[0] + 0.05 * g * g;
    const double step = std::sqrt(s[1] + 1e-6) / std::sqrt(s[0] + 1e-6) * g;
    s[1] = 0.95 * s[1] + 0.05 * step * step;
    return w - rate * step;
  });
}

TEST_F(UpdaterTest, Rmsprop) {
  expect_form("rmsprop", {{"rho", value(0.9)}}, [](double w, double g, double* s, double rate, int) {
    s[0] = 0.9 * s[0] + 0.1 * g * g;
    return w - rate * g / (std::sqrt(s[0]) + 1e-8);
  });
}

TEST_F(UpdaterTest, RmspropWithMomentum) {
  expect_form("rmsprop", {{"momentum", value(0.5)}}, [](double w, double g, double* s, double rate, int) {
    s[0] = 0.99 * s[0] + 0.01 * g * g;
    s[1] = 0.5 * s[1] + g / (std::sqrt(s[0]) + 1e-8);
    return w - rate * s[1];
  });
}

TEST_F(UpdaterTest, RmspropCentered) {
  expect_form("rmsprop", {{"centered", value(true)}, {"rho", value(0.9)}},
              [](double w, double g, double* s, double rate, int) {
                s[0] = 0.9 * s[0] + 0.1 * g * g;
                s[1] = 0.9 * s[1] + 0.1 * g;
                return w - rate * g / (std::sqrt(s[0] - s[1] * s[1]) + 1e-8);
              });
  expect_form("rmsprop", {{"centered", value(true)}, {"momentum", value(0.5)}},
              [](double w, double g, double* s, double rate, int) {
                s[0] = 0.99 * s[0] + 0.01 * g * g;
                s[1] = 0.99 * s[1] + 0.01 * g;
                s[2] = 0.5 * s[2] + g / (std::sqrt(s[0] - s[1] * s[1]) + 1e-8);
                return w - rate * s[2];
              });
}

double adam_step(double g, double* s, int t) {
  s[0] = 0.9 * s[0] + 0.1 * g;
  s[1] = 0.999 * s[1] + 0.001 * g * g;
  return s[0] / (1 - std::pow(0.9, t)) / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-8);
}

TEST_F(UpdaterTest, AdamAddsItsDecayToTheGradient) {
  expect_form("adam", {{"weight_decay", value(0.1)}}, [](double w, double g, double* s, double rate, int t) {
    return w - rate * adam_step(g + 0.1 * w, s, t);
  });
}

TEST_F(UpdaterTest, AdamwTakesItsDecayFromTheValue) {
  expect_form("adamw", {{"weight_decay", value(0.1)}}, [](double w, double g, double* s, double rate, int t) {
    return w - rate * adam_step(g, s, t) - rate * 0.1 * w;
  });
}

TEST_F(UpdaterTest, AmsgradDividesByTheGreatestSoFar) {
  const auto step = [](double g, double* s, int t) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = 0.5 * s[1] + 0.5 * g * g;
    s[2] = std::max(s[2], s[1]);
    return s[0] / (1 - std::pow(0.9, t)) / (std::sqrt(s[2] / (1 - std::pow(0.5, t))) + 1e-8);
  };
  expect_form("adam", {{"amsgrad", value(true)}, {"beta2", value(0.5)}},
              [&](double w, double g, double* s, double rate, int t) { return w - rate * step(g, s, t); });
  expect_form(
      "adamw", {{"amsgrad", value(true)}, {"beta2", value(0.5)}, {"weight_decay", value(0.1)}},
      [&](double w, double g, double* s, double rate, int t) { return w - rate * step(g, s, t) - rate * 0.1 * w; });
}

TEST_F(UpdaterTest, Adamax) {
  expect_form("adamax", {}, [](double w, double g, double* s, double rate, int t) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = std::max(0.999 * s[1], std::abs(g));
    return w - rate / (1 - std::pow(0.9, t)) * s[0] / (s[1] + 1e-8);
  });
}

TEST_F(UpdaterTest, Nadam) {
  expect_form("nadam", {}, [](double w, double g, double* s, double rate, int t) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = 0.999 * s[1] + 0.001 * g * g;
    const double mean = 0.9 * s[0] / (1 - std::pow(0.9, t + 1)) + 0.1 * g / (1 - std::pow(0.9, t));
    return w - rate * mean / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-8);
  });
}

TEST_F(UpdaterTest, NadamWithAMomentumThatRises) {
  const auto momentum = [](int t) { return 0.9 * (1 - 0.5 * std::pow(0.96, t * 0.004)); };
  expect_form("nadam", {{"momentum_decay", value(0.004)}}, [&](double w, double g, double* s, double rate, int t) {
    s[0] = 0.9 * s[0] + 0.1 * g;
    s[1] = 0.999 * s[1] + 0.001 * g * g;
    double product = 1;
    for (int i = 1; i <= t; ++i) product *= momentum(i);
    const double mean =
        momentum(t + 1) * s[0] / (1 - product * momentum(t + 1)) + (1 - momentum(t)) * g / (1 - product);
    return w - rate * mean / (std::sqrt(s[1] / (1 - std::pow(0.999, t))) + 1e-8);
  });
  // The first step is 1.06 x rate, as in PyTorch; with an unchanged momentum, 1.47 x.
  for (const auto& [decay, first] : {std::pair{0.004, 1.06}, {0.0, 1.47}}) {
    Updates updates(host_, "nadam", {{"momentum_decay", value(decay)}}, {0.0});
    updates.update({3.0}, 1);
    EXPECT_NEAR(-updates.value[0], first, 0.01);
  }
}

double length(const Numbers& numbers) {
  double squares = 0;
  for (const double number : numbers) squares += number * number;
  return std::sqrt(squares);
}

TEST_F(UpdaterTest, LambStretchesItsStepToTheParamsLength) {
  Updates updates(host_, "lamb", {{"weight_decay", value(0.02)}, {"epsilon", value(1e-8)}}, start);
  Numbers wanted = start;
  std::vector<std::array<double, 2>> own(start.size());
  for (int t = 1; t <= steps; ++t) {
    const Numbers gradient = gradient_at(t);
    updates.update(gradient, rate_at(t));
    Numbers step;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      step.push_back(adam_step(gradient[i], own[i].data(), t) + 0.02 * wanted[i]);
    const double stretch = length(wanted) / length(step);
    for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] -= rate_at(t) * stretch * step[i];
    expect_near(updates.value, wanted, t);
  }
}

TEST_F(UpdaterTest, LambLeavesTheStepOfAParamOfZeros) {
  Updates updates(host_, "lamb", {}, {0.0, 0.0});
  updates.update({0.5, -2.0}, 0.1);
  EXPECT_NEAR(updates.value[0], -0.1, 1e-5);
  EXPECT_NEAR(updates.value[1], 0.1, 1e-5);
}

TEST_F(UpdaterTest, HistoryIsNamedForCheckpoints) {
  const auto names = [&](const std::string& updater, std::vector<TableEntry> options) {
    std::vector<std::string> list;
    for (const auto& slot : make<Updater>(host_, updater, std::move(options))->rule().history)
      list.push_back(slot.name);
    return list;
  };
  EXPECT_EQ(names("sgd", {}), std::vector<std::string>{});
  EXPECT_EQ(names("sgd", {{"momentum", value(0.9)}}), std::vector<std::string>{"momentum"});
  EXPECT_EQ(names("adam", {}), (std::vector<std::string>{"mean", "square_mean"}));
}

} // namespace
} // namespace dlhost::test
