/** Which server this is: the configured id, the EC2 instance id, or a UUID. */
#ifndef ANTEROOM_GATEWAY_IDENTITY_H
#define ANTEROOM_GATEWAY_IDENTITY_H

#include "common/base/err.h"
#include "common/line/keyspace.h"

/** OPTION is SERVER_ID: a name, "auto" or "auto:NAME". IMDS_URL: "http://ADDRESS[:PORT]" of the instance metadata
 * service (IMDSv2), or "" = do not ask. Blocks for at most 1 s in all, before the loop runs. ERR_INVALID: not a server
 * id. */
MUST_CHECK enum err identity_find(const char *option, const char *imds_url, char id[SERVER_ID_MAX + 1]);

#endif
