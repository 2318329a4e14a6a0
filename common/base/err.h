/** What can go wrong with machinery. Outcomes of the domain ("sold out") are enums of their own; our own mistakes are
 * asserts. */
#ifndef ANTEROOM_BASE_ERR_H
#define ANTEROOM_BASE_ERR_H

#define MUST_CHECK __attribute__((warn_unused_result))

enum err {
    OK = 0,
    ERR_NOMEM,    /* an allocation failed */
    ERR_TOO_BIG,  /* past a named limit */
    ERR_INVALID,  /* malformed input */
    ERR_RANGE,    /* well formed, but outside what is allowed */
    ERR_MISSING,  /* a thing that must be there is not */
    ERR_IO,       /* the system or the network refused; errno or a log line says how */
    ERR_BUSY,     /* a bounded queue is full; nothing was sent */
    ERR_UNSENT,   /* no connection; nothing was sent, so repeating is safe */
    ERR_LOST,     /* sent, but the answer never came: it may have been carried out */
    ERR_TIMEOUT,  /* sent, no answer before the deadline: it may have been carried out */
    ERR_CANCELED, /* we closed while it was under way: it may have been carried out */
    ERR_REPLY,    /* the peer answered with an error; its text is in the reply */
    ERR_PROTOCOL, /* the answer cannot be read: it may have been carried out */
    ERR_DENIED,   /* a signature, password or certificate was not accepted */
};

/** Lower-case words for logs; never NULL. */
const char *err_text(enum err err);

#endif
