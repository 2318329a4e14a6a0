/** libuv ends the process where its list of watched descriptors cannot grow for want of memory: so it grows to all that
 * may ever be needed at the start, 8 bytes each, and never again. */
#ifndef ANTEROOM_HTTP_WATCHERS_H
#define ANTEROOM_HTTP_WATCHERS_H

#include <stddef.h>
#include <uv.h>

/** Room for COUNT descriptors, or for as many as this process may have. Where that fails the log says so, and the list
 * grows as ever. LOOP must run afterwards. */
void watchers_reserve(uv_loop_t *loop, size_t count);

#endif
