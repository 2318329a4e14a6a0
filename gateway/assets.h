/** The files of the waiting page: the built-in ones, or an operator's own from WEB_DIR, read once at the start. */
#ifndef ANTEROOM_GATEWAY_ASSETS_H
#define ANTEROOM_GATEWAY_ASSETS_H

#include "common/base/buf.h"

#define ASSET_BYTES_MAX 131072

enum asset { ASSET_ROOM_HTML, ASSET_ROOM_CSS, ASSET_WAITROOM_JS, ASSET_COUNT };

/** All zero: the built-in files. */
struct assets {
    struct buf own[ASSET_COUNT]; /* empty: the built-in one */
};

/** Reads room.html, room.css and waitroom.js from FOLDER where they are there; "": none. On failure (no such folder, a
 *  file that is unreadable, empty or longer than ASSET_BYTES_MAX) nothing is held and WHY is one sentence. */
MUST_CHECK enum err assets_load(struct assets *assets, const char *folder, char *why, size_t size);
void assets_finish(struct assets *assets);
struct text asset_text(const struct assets *assets, enum asset asset);

#endif
