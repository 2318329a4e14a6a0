/** This gateway's stream: reads what is pending first, then what is new, hands each message over, and ACKs and trims
 * after the frames are written. A vanished stream or group is made again, and everything is resynchronised then. */
#ifndef ANTEROOM_GATEWAY_INBOX_H
#define ANTEROOM_GATEWAY_INBOX_H

#include <stdbool.h>
#include <stdint.h>

struct gateway;
struct redis_reply;

#define INBOX_COUNT "64" /* entries a read: replies stay well under 200 KB */
#define INBOX_BLOCK_MS 2000

struct inbox {
    struct gateway *gateway;
    bool started; /* wanted */
    bool busy;    /* a call is under way */
    bool pending; /* reading our own pending entries (id 0) before new ones */
    bool has_group;
};

void inbox_init(struct inbox *inbox, struct gateway *gateway);
/** Begins, and goes on after every reconnect. */
void inbox_start(struct inbox *inbox);
/** For good: nothing is read or acknowledged any more. */
void inbox_stop(struct inbox *inbox);
/** Each second, and when Redis is there again: goes on where reading had stopped. */
void inbox_poke(struct inbox *inbox);
/** The blocking connection is up (again): pending entries first. */
void inbox_resume(struct inbox *inbox);

#endif
