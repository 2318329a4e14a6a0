#include "common/base/err.h"

const char *err_text(enum err err)
{
    switch (err) {
    case OK:
        return "ok";
    case ERR_NOMEM:
        return "out of memory";
    case ERR_TOO_BIG:
        return "too big";
    case ERR_INVALID:
        return "malformed";
    case ERR_RANGE:
        return "out of range";
    case ERR_MISSING:
        return "missing";
    case ERR_IO:
        return "input/output error";
    case ERR_BUSY:
        return "queue full";
    case ERR_UNSENT:
        return "not connected";
    case ERR_LOST:
        return "connection lost before the answer";
    case ERR_TIMEOUT:
        return "no answer in time";
    case ERR_CANCELED:
        return "canceled";
    case ERR_REPLY:
        return "refused by the peer";
    case ERR_PROTOCOL:
        return "protocol error";
    case ERR_DENIED:
        return "not accepted";
    }
    return "unknown";
}
