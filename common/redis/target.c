#include "common/redis/target.h"

#include <stdio.h>

static enum err read_password(const char *path, struct redis_url *url)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return ERR_IO;
    bool read = fgets(url->password, sizeof url->password, file) != NULL;
    fclose(file);
    url->password[strcspn(url->password, "\r\n")] = '\0';
    return read && url->password[0] ? OK : ERR_IO;
}

enum err redis_target(const struct setting *setting, struct redis_url *url, char *why, size_t size)
{
    const char *reason = "";
    if (redis_url_parse(url, text_of(setting->redis_url), &reason) != OK) {
        snprintf(why, size, "--redis-url %s", reason);
        return ERR_INVALID;
    }
    if (setting->redis_password_file[0] && read_password(setting->redis_password_file, url) != OK) {
        snprintf(why, size, "--redis-password-file %s cannot be read or is empty", setting->redis_password_file);
        return ERR_IO;
    }
    return text_copy(url->ca_file, sizeof url->ca_file, text_of(setting->redis_ca_file));
}
