// The waiting page: one EventSource at a time, the place kept in sessionStorage for a reload.
'use strict';
(() => {
  const session = location.pathname.split('/')[2];
  const key = 'anteroom:' + session;
  const at = (id) => document.getElementById(id);
  const say = (text) => { at('note').textContent = text; };
  const calm = at('note').textContent;
  let source, ticket = sessionStorage.getItem(key) || '';
  let told = false; // why there is no connection: not to be said over by "Reconnecting"
  const figures = (shown) => { for (const id of ['position', 'progress', 'line']) at(id).hidden = !shown; };

  const keep = (event) => {
    if (!event.lastEventId) return;
    ticket = event.lastEventId.replace(/\.e$/, '');
    if (ticket) sessionStorage.setItem(key, ticket);
    at('leave').hidden = !ticket;
  };
  // The end: AGAIN is what the button says that starts anew.
  const stop = (caption, text, again) => {
    source.close();
    clearInterval(clock);
    sessionStorage.removeItem(key);
    document.body.classList.add('ended');
    document.title = caption + ' – Waiting room';
    at('caption').textContent = caption;
    figures(false);
    at('leave').hidden = true;
    at('again').textContent = again || '';
    at('again').hidden = !again;
    say(text);
  };
  // Calm: whole minutes, one number where both ends are the same, and no seconds that count down.
  const about = (range) => {
    if (!range) return '–';
    if (range[1] < 60) return 'under a minute';
    const low = Math.floor(range[0] / 60), high = Math.ceil(range[1] / 60);
    return (low === 0 ? 'up to ' : low === high ? '' : low + '–') + high + ' min';
  };
  const show = (state) => {
    at('caption').textContent = state.status === 'PAUSED' ? 'The line is paused' : 'You are in line';
    at('position').textContent = state.position.toLocaleString();
    at('ahead').textContent = state.ahead.toLocaleString();
    at('behind').textContent = state.behind.toLocaleString();
    at('eta').textContent = about(state.etaRange);
    at('progress').value = state.progress;
    figures(true);
    document.title = '#' + state.position + ' – Waiting room';
  };
  // Before the start: the time that is left stands where the position will be.
  let clock, ahead; // ahead: the server's clock minus this one, ms
  const until = (startsAt) => {
    const left = Math.max(0, Math.ceil((Date.parse(startsAt) - Date.now() - (ahead || 0)) / 1000));
    const part = (n) => String(n).padStart(2, '0');
    const hours = Math.floor(left / 3600);
    at('position').textContent = (hours ? hours + ':' : '') + part(Math.floor(left / 60) % 60) + ':' + part(left % 60);
  };
  const lobby = (state) => {
    clearInterval(clock);
    if (ahead === undefined) {
      ahead = 0;
      fetch('/api/queue/info?sessionId=' + encodeURIComponent(session)).then((answer) => answer.json())
        .then((info) => { ahead = (Date.parse(info.now) || Date.now()) - Date.now(); }, () => {});
    }
    at('caption').textContent = 'The line opens in';
    figures(false);
    at('position').hidden = !state.startsAt;
    if (state.startsAt) {
      until(state.startsAt);
      clock = setInterval(until, 1000, state.startsAt);
    }
    say(state.waiting.toLocaleString() + (state.waiting === 1 ? ' person is' : ' people are') + ' here. ' +
      (state.order === 'lottery' ? 'The order is drawn by lot at the start: coming earlier or again changes nothing.'
        : 'The order is that of arrival.'));
    document.title = 'Waiting room';
  };
  // Where on the site the visitor wanted to go (?to=): a path of that site and nothing else, which the site itself judges again.
  const wanted = new URLSearchParams(location.search).get('to') || '';
  const to = /^\/(?![\/\\])/.test(wanted) ? wanted : '';
  const go = (entry) => {
    if (!entry.entryUrl) return;
    if (entry.entryMethod !== 'post') {
      location.replace(entry.entryUrl + '#anteroom_token=' + entry.token + (to && '&to=' + encodeURIComponent(to)));
      return;
    }
    const form = document.createElement('form');
    form.method = 'post';
    form.action = entry.entryUrl;
    for (const [name, value] of [['anteroom_token', entry.token], ['to', to]]) {
      if (!value) continue;
      const field = document.createElement('input');
      field.type = 'hidden';
      field.name = name;
      field.value = value;
      form.append(field);
    }
    document.body.append(form);
    form.submit();
  };
  const closed = { 'sold-out': 'Sold out.', closed: 'The line was closed.', cleared: 'The line was emptied by the operator.',
    evicted: 'Your place was taken back by the operator.', expired: 'Your place was not claimed in time.', left: 'You left the line.' };

  const on = {
    'waiting-state': (state, event) => {
      clearInterval(clock);
      keep(event);
      show(state);
      say(calm);
    },
    lobby: (state, event) => { keep(event); lobby(state); },
    notice: (notice) => {
      at('notice').textContent = notice.message;
      at('notice').hidden = !notice.message;
    },
    entry: (entry) => {
      stop('It is your turn', entry.entryUrl ? 'Taking you there…' : 'This is your entry token:');
      at('position').textContent = '✓';
      at('position').hidden = false;
      at('token').textContent = entry.entryUrl ? '' : entry.token;
      at('token').hidden = !!entry.entryUrl;
      go(entry);
    },
    closed: (end) => stop('Not waiting', closed[end.reason] || 'The line ended.', end.reason === 'expired' ? 'Join again' : ''),
    superseded: () => {
      stop('Open elsewhere', 'Your place moved to another window.', 'Wait in this window');
      if (ticket) sessionStorage.setItem(key, ticket); // for that button
    },
    refused: (problem) => {
      if (problem.code === 'bad-ticket' && ticket) { // of another time, or of another user of this tab
        source.close();
        sessionStorage.removeItem(key);
        ticket = '';
        listen();
        return;
      }
      stop('Not waiting', problem.detail, 'Try again');
    },
    unavailable: (problem) => {
      if (!ticket) at('caption').textContent = 'Not in line yet';
      told = true;
      say(problem.detail + ' This page tries again by itself.');
    },
  };
  const listen = () => {
    source = new EventSource('/api/queue/stream?sessionId=' + encodeURIComponent(session) + (ticket ? '&ticket=' + ticket : ''));
    for (const name of Object.keys(on))
      source.addEventListener(name, (event) => {
        told = false;
        on[name](JSON.parse(event.data), event);
      });
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CONNECTING && !told) say(ticket ? 'Reconnecting… your place is kept.' : 'Connecting…');
    });
  };
  listen();
  at('again').addEventListener('click', () => location.reload());
  at('leave').addEventListener('click', () => {
    if (ticket) navigator.sendBeacon('/api/queue/leave?ticket=' + ticket);
    stop('Not waiting', 'You left the line.', 'Join again');
  });
})();
