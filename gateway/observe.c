#include "gateway/observe.h"

#include "common/base/log.h"
#include "common/http/request.h"
#include "gateway/gateway.h"

#include <stdio.h>

void observe_request(void *context, const struct http_done *done)
{
    struct gateway *gateway = context;
    char code[8];
    bool known =
        strcmp(done->route, "none") != 0 && strcmp(done->route, "bad") != 0 && strcmp(done->route, "overflow") != 0;
    struct text method = known ? http_request_method(done->request) : TEXT("other");
    char word[16];
    snprintf(code, sizeof code, "%d", done->status);
    if (text_copy(word, sizeof word, method) != OK)
        word[0] = '\0';
    metrics_add(gateway->metrics, METER_HTTP_REQUESTS, 1, done->route, word, code);
    metrics_observe(gateway->metrics, METER_HTTP_DURATION, (double)done->duration_ns / 1e9, done->route, NULL, NULL);
    if (strcmp(done->route, "overflow") == 0)
        metrics_add(gateway->metrics, METER_REFUSALS, 1, "too-many-connections", NULL, NULL);
    const char *wanted = gateway->options.common.access_log;
    if (strcmp(wanted, "all") == 0 || (strcmp(wanted, "errors") == 0 && done->status >= 400))
        log_event(LOG_INFO, "request", LOG_S("route", done->route), LOG_S("method", word), LOG_I("code", done->status),
                  LOG_F("duration_ms", (double)done->duration_ns / 1e6),
                  LOG_S("request", http_request_id(done->request)));
}

void observe_redis(void *data, const char *command, enum err err, uint64_t duration_ns)
{
    struct gateway *gateway = data;
    metrics_add(gateway->metrics, METER_REDIS_COMMANDS, 1, command, err == OK ? "ok" : err_text(err), NULL);
    metrics_observe(gateway->metrics, METER_REDIS_DURATION, (double)duration_ns / 1e9, "commands", NULL, NULL);
}
