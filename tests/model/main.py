"""Runs scenes, the simulation and the mutants, and says what happened."""
import collections
import concurrent.futures
import time

from ledger import Violation
from losses import LossWorld
from mutants import BY_NAME, MUTANTS
from resp import RedisError, Server
from scenes import SCENES, run_scenes
from world import World
from world_scenes import WORLD_SCENES, run_world_scenes
import scenes_admission, scenes_connections, scenes_contract, scenes_lobby  # noqa: E401,F401 (they register)
import scenes_loss, scenes_positions, scenes_time  # noqa: E401,F401

RUN_OPERATIONS = 4000  # of one World: then another configuration, from an empty Redis
LOSS_OPERATIONS, LOSS_SHARE = 1000, 2000  # of one LossWorld; one for so many operations of the others
MUTANT_OPERATIONS, MUTANT_SEEDS = 20000, 3  # a mutant that no scene catches meets all seeds, another the first


class Failure(Exception):
    """Where a Violation showed: CAUGHT names the scene or says "simulation"."""

    def __init__(self, caught, violation, where):
        super().__init__('%s\n  in %s' % (violation, where))
        self.caught, self.kind = caught, violation.kind


def play_scenes(connection, changes=(), flags=()):
    for run in (run_scenes, run_world_scenes):
        for name, act in run(connection, changes, flags):
            try:
                act()
            except Violation as violation:
                raise Failure(name, violation, 'scene ' + name) from violation
            except RedisError as error:
                raise Failure(name, Violation('error', str(error)), 'scene ' + name) from error


def simulate(connection, seed, operations, changes=(), flags=(), count=None, watch=''):
    """The worlds' counts are added up in COUNT."""
    done = number = 0
    while done < operations:
        world = World(connection, '%d/%d' % (seed, number), changes, flags, watch=watch)
        try:
            world.run(min(RUN_OPERATIONS, operations - done))
        except Violation as violation:
            where = 'step %d of seed %d (run %d, after %d operations, at %d ms) with %s' % (
                done + world.operations, seed, number, world.operations, world.elapsed(), world.ledger.config)
            raise Failure('simulation', violation, where) from violation
        finally:
            if count is not None:
                count.update(world.count)
        done += world.operations
        number += 1


def simulate_losses(connection, seed, worlds, changes=(), count=None):
    for number in range(worlds):
        world = LossWorld(connection, '%d/%d' % (seed, number), changes, count)
        try:
            world.run(LOSS_OPERATIONS)
        except Violation as violation:
            raise Failure('losses', violation, 'losses, run %d of seed %d' % (number, seed)) from violation


def hunt(name):
    """What caught the mutant: (name, scene, kind of violation in the simulation), '' where it survived."""
    mutant, scene = BY_NAME[name], ''
    with Server() as server:
        try:
            play_scenes(server.connection, mutant.changes, mutant.flags)
        except Failure as failure:
            scene = failure.caught
        for seed in range(1, 2 if scene else 1 + MUTANT_SEEDS):
            try:
                simulate(server.connection, seed, MUTANT_OPERATIONS, mutant.changes, mutant.flags)
            except Failure as failure:
                return name, scene, failure.kind
    return name, scene, ''


def hunt_all():
    started, wrong = time.monotonic(), 0
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        print('%-30s %-10s %-20s %s' % ('mutant', 'rule', 'simulation', 'scene'))
        for name, scene, kind in pool.map(hunt, [mutant.name for mutant in MUTANTS]):
            wrong += not scene and not kind
            scene = scene or ('' if kind else 'SURVIVED: ' + BY_NAME[name].why)
            print('%-30s %-10s %-20s %s' % (name, BY_NAME[name].rule, kind, scene), flush=True)
    print('%d mutants, %d not caught, %.0f s' % (len(MUTANTS), wrong, time.monotonic() - started))
    return 1 if wrong else 0


VERDICT = (('joined', 'joined'), ('admitted', 'admitted'), ('left, each for its reason', 'departed: '), ('lost', None),
           ('duplicated', None), ('out of order', None), ('wrong position', None))


def report(count, failure, elapsed):
    for name in sorted(count):
        print('  %-30s %d' % (name, count[name]))
    words = []
    for label, prefix in VERDICT:
        if prefix:
            words.append('%d %s' % (sum(n for name, n in count.items() if name.startswith(prefix)), label))
        else:
            words.append('%d %s' % (failure is not None and failure.kind == label, label))
    print(', '.join(words))
    print('%s, %.1f s' % ('FAILED' if failure else 'ok', elapsed))


def run_once(arguments):
    mutant = BY_NAME[arguments.mutant] if arguments.mutant else None
    changes, flags = (mutant.changes, mutant.flags) if mutant else ((), ())
    count, failure, started = collections.Counter(), None, time.monotonic()
    print('seed %d' % arguments.seed, flush=True)
    with Server() as server:
        try:
            play_scenes(server.connection, changes, flags)
            print('%d scenes' % (len(SCENES) + len(WORLD_SCENES)), flush=True)
            simulate(server.connection, arguments.seed, arguments.operations, changes, flags, count, arguments.watch)
            simulate_losses(server.connection, arguments.seed, arguments.operations // LOSS_SHARE, changes, count)
        except Failure as caught:
            failure = caught
            print(failure)
            print('  again: tests/model/run --seed %d --operations %d' % (arguments.seed, arguments.operations))
    report(count, failure, time.monotonic() - started)
    return 1 if failure else 0


def main(arguments):
    if arguments.list:
        for kind, names in (('scene', [name for name, *_ in SCENES + WORLD_SCENES]), ('mutant', [m.name for m in MUTANTS])):
            for name in names:
                print(kind, name)
        return 0
    if arguments.mutant and arguments.mutant not in BY_NAME:
        print('no mutant is called', arguments.mutant)
        return 2
    return hunt_all() if arguments.mutants else run_once(arguments)
