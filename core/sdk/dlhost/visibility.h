// What libdlhost-sdk exports. Plugins are built with -fvisibility=hidden and export their alias alone.
#pragma once

#define DLHOST_API [[gnu::visibility("default")]]
