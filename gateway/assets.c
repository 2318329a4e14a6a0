#include "gateway/assets.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

/* From gateway/web/, put in by the Makefile. */
extern const char web_room_html[], web_waitroom_js[], web_room_css[];

static const struct {
    const char *name, *built_in;
} files[ASSET_COUNT] = {
    [ASSET_ROOM_HTML] = {"room.html", web_room_html},
    [ASSET_ROOM_CSS] = {"room.css", web_room_css},
    [ASSET_WAITROOM_JS] = {"waitroom.js", web_waitroom_js},
};

/* ERR_MISSING: there is none. */
static enum err read_file(struct buf *buf, const char *path)
{
    FILE *file = fopen(path, "rb");
    buf_init(buf, ASSET_BYTES_MAX + 1);
    if (!file)
        return errno == ENOENT ? ERR_MISSING : ERR_IO;
    enum err err = buf_reserve(buf, ASSET_BYTES_MAX + 1);
    if (err == OK) {
        buf->len = fread(buf->data, 1, ASSET_BYTES_MAX + 1, file);
        err = ferror(file) ? ERR_IO : buf->len > ASSET_BYTES_MAX || buf->len == 0 ? ERR_TOO_BIG : OK;
    }
    fclose(file);
    if (err != OK)
        buf_finish(buf);
    return err;
}

enum err assets_load(struct assets *assets, const char *folder, char *why, size_t size)
{
    struct stat found;
    char path[1024];
    *assets = (struct assets){.own = {{.len = 0}}};
    if (!folder[0])
        return OK;
    if (stat(folder, &found) != 0 || !S_ISDIR(found.st_mode)) {
        snprintf(why, size, "--web-dir: %s is no folder", folder);
        return ERR_INVALID;
    }
    for (int i = 0; i < ASSET_COUNT; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i].name);
        enum err err = read_file(&assets->own[i], path);
        if (err == OK || err == ERR_MISSING)
            continue;
        snprintf(why, size, "--web-dir: %s %s", path,
                 err == ERR_TOO_BIG ? "must have 1 to 131072 bytes" : "cannot be read");
        assets_finish(assets);
        return err;
    }
    return OK;
}

void assets_finish(struct assets *assets)
{
    for (int i = 0; i < ASSET_COUNT; i++)
        buf_finish(&assets->own[i]);
}

struct text asset_text(const struct assets *assets, enum asset asset)
{
    return assets->own[asset].len ? buf_view(&assets->own[asset]) : text_of(files[asset].built_in);
}
