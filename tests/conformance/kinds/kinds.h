// The suites of all kinds except devices and layers.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "context.h"

namespace dlhost::conform {

// A check of one product; `name` is the product's name.
using ProductCheck = void (*)(const Context&, const std::string& name);
void add_product_check(const Context&, Kind, const std::string& product, const std::string& check, ProductCheck);

// The values of --set, and an allowed value for each other required option, so that products with numeric options can
// be tested without settings.
Table usable_options(const Context&, Kind, const std::string& product);

template <class T> std::unique_ptr<T> usable(const Context& context, const std::string& product) {
  return context.make<T>(product, usable_options(context, T::kind, product));
}

void register_updater_suite(const Context&, const std::string& name);
void register_schedule_suite(const Context&, const std::string& name);
void register_initializer_suite(const Context&, const std::string& name);
void register_augmentation_suite(const Context&, const std::string& name);
void register_algorithm_suite(const Context&, const std::string& name);
void register_codec_suite(const Context&, const std::string& name);
void register_consistency_suite(const Context&, const std::string& name);
void register_sync_suite(const Context&, const std::string& name);
void register_store_suite(const Context&, const std::string& name);
void register_transport_suite(const Context&, const std::string& name);
void register_rendezvous_suite(const Context&, const std::string& name);

} // namespace dlhost::conform
