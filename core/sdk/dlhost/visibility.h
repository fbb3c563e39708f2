// Marks the exports of libdlhost-sdk. Plugins are built with -fvisibility=hidden and export only their alias.
#pragma once

#define DLHOST_API [[gnu::visibility("default")]]
