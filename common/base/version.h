/** What --version says. The Makefile passes the commit. */
#ifndef ANTEROOM_BASE_VERSION_H
#define ANTEROOM_BASE_VERSION_H

#define ANTEROOM_VERSION "0.1.0"
#ifndef ANTEROOM_COMMIT
#define ANTEROOM_COMMIT "unknown"
#endif

#endif
