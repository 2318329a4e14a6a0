"""A visitor: perhaps a user id, the newest ticket, at most one stream. What it is told is checked here."""
from ledger import ADMITTED, DEPARTED, require


class Visitor:
    def __init__(self, world, user, mode):
        self.world, self.user, self.mode = world, user, mode
        self.ticket, self.older = None, []  # (place, epoch, number, generation), and earlier ones
        self.gateway = self.connection = None
        self.busy = self.aborted = self.done = False

    def placed(self, answer):
        if self.ticket:
            self.older.append(self.ticket)
        self.ticket = (answer[1], answer[2], answer[3], answer[4])

    def lost(self, connection):
        if self.connection is connection:
            self.gateway = self.connection = None

    def told_end(self, connection, why, token):
        """The last event of a stream. One that was left half open tells nobody."""
        if token is not None:
            self.check_token(connection.place, token)
        elif why in ('closed', 'sold-out', 'cleared', 'expired'):
            place = self.world.ledger.places[connection.place]
            require(place.state == DEPARTED or self.world.ledger.over(place.id, self.world.now), 'untold', 'told', why, 'but', place)
        if self.connection is not connection:
            return
        self.lost(connection)
        self.world.count['told: ' + why] += 1
        if why == 'entered':
            self.entered(connection.place, token)
        else:
            self.finish()

    def entered(self, place, token):
        self.check_token(place, token)
        self.world.count['entries delivered'] += 1
        self.finish()

    def check_token(self, place, token):
        known = self.world.ledger.places[place]
        require(known.token == token, 'token', 'told', token, 'but', known, 'has', known.token)
        require(known.state == ADMITTED or known.why == 'deleted', 'token', 'told', token, 'but', known)

    def refused(self, outcome):
        if outcome == 'gone':
            self.ticket = None
        elif outcome not in ('unavailable', 'deleted', 'none', 'already-waiting', 'line-full'):
            self.finish()

    def finish(self):
        self.done = True
        self.gateway = self.connection = None
