// The waiting page: one EventSource, the place kept in sessionStorage for a reload.
'use strict';
(() => {
  const session = location.pathname.split('/')[2];
  const key = 'anteroom:' + session;
  const at = (id) => document.getElementById(id);
  const say = (text) => { at('note').textContent = text; };
  const calm = at('note').textContent;
  let source, ticket = sessionStorage.getItem(key) || '';

  const keep = (event) => {
    if (!event.lastEventId) return;
    ticket = event.lastEventId.replace(/\.e$/, '');
    if (ticket) sessionStorage.setItem(key, ticket);
  };
  const stop = (caption, text) => {
    source.close();
    clearInterval(clock);
    sessionStorage.removeItem(key);
    at('caption').textContent = caption;
    at('leave').hidden = true;
    at('progress').hidden = true;
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
    at('progress').hidden = at('line').hidden = false;
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
    at('progress').hidden = at('line').hidden = true;
    if (state.startsAt) {
      until(state.startsAt);
      clock = setInterval(until, 1000, state.startsAt);
    } else {
      at('position').textContent = '…';
    }
    say(state.waiting.toLocaleString() + (state.waiting === 1 ? ' person is' : ' people are') + ' here. ' +
      (state.order === 'lottery' ? 'The order is drawn by lot at the start: coming earlier or again changes nothing.'
        : 'The order is that of arrival.'));
    document.title = 'Waiting room';
  };
  const go = (entry) => {
    if (!entry.entryUrl) return;
    if (entry.entryMethod !== 'post') {
      location.replace(entry.entryUrl + '#anteroom_token=' + entry.token);
      return;
    }
    const form = document.createElement('form');
    const field = document.createElement('input');
    form.method = 'post';
    form.action = entry.entryUrl;
    field.type = 'hidden';
    field.name = 'anteroom_token';
    field.value = entry.token;
    form.append(field);
    document.body.append(form);
    form.submit();
  };
  const closed = { 'sold-out': 'Sold out.', closed: 'The line was closed.', cleared: 'The line was emptied by the operator.',
    evicted: 'Your place was taken back by the operator.', expired: 'Your place was not claimed in time.', left: 'You left the line.' };

  source = new EventSource('/api/queue/stream?sessionId=' + encodeURIComponent(session) + (ticket ? '&ticket=' + ticket : ''));
  source.addEventListener('waiting-state', (event) => {
    clearInterval(clock);
    keep(event);
    show(JSON.parse(event.data));
    say(calm);
  });
  source.addEventListener('lobby', (event) => { keep(event); lobby(JSON.parse(event.data)); });
  source.addEventListener('notice', (event) => {
    const text = JSON.parse(event.data).message;
    at('notice').textContent = text;
    at('notice').hidden = !text;
  });
  source.addEventListener('entry', (event) => {
    const entry = JSON.parse(event.data);
    at('position').textContent = '✓';
    stop('It is your turn', entry.entryUrl ? 'Taking you there…' : 'Your entry token: ' + entry.token);
    go(entry);
  });
  source.addEventListener('closed', (event) => stop('Not waiting', closed[JSON.parse(event.data).reason] || 'The line ended.'));
  source.addEventListener('superseded', () => stop('Open elsewhere', 'Your place moved to another window.'));
  source.addEventListener('refused', (event) => stop('Not waiting', JSON.parse(event.data).detail));
  source.addEventListener('unavailable', (event) => say(JSON.parse(event.data).detail + ' This page tries again by itself.'));
  source.addEventListener('error', () => { if (source.readyState === EventSource.CONNECTING) say('Reconnecting… your place is kept.'); });
  at('leave').addEventListener('click', () => {
    if (ticket) navigator.sendBeacon('/api/queue/leave?ticket=' + ticket);
    stop('Not waiting', 'You left the line.');
  });
})();
