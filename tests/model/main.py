"""Runs scenes and the simulation, and says what happened."""
import time

from ledger import Violation
from resp import Server
from world import World

RUN_OPERATIONS = 4000  # of one World: then another configuration, from an empty Redis


def simulate(connection, seed, operations, changes=(), flags=(), count=None, watch=''):
    """Violation's text says which run and step; the worlds' counts are added up in COUNT."""
    done = number = 0
    while done < operations:
        world = World(connection, '%d/%d' % (seed, number), changes, flags, watch=watch)
        try:
            world.run(min(RUN_OPERATIONS, operations - done))
        except Violation as violation:
            raise Violation(violation.kind, '%s\n  seed %d, step %d, in run %d after %d operations with %s' % (
                str(violation).split(': ', 1)[1], seed, done + world.operations, number, world.operations,
                world.ledger.config)) from violation
        finally:
            if count is not None:
                count.update(world.count)
        done += world.operations
        number += 1
    return done


def main(arguments):
    import collections
    count = collections.Counter()
    started = time.monotonic()
    print('seed', arguments.seed, flush=True)
    with Server() as server:
        simulate(server.connection, arguments.seed, arguments.operations, count=count, watch=arguments.watch)
    for name in sorted(count):
        print('  %-28s %d' % (name, count[name]))
    print('%.1f s' % (time.monotonic() - started))
    return 0
