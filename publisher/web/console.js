// The operator's console: one stream of events, what it told about each session, and the changes an operator makes.
'use strict';
(() => {
  const PAGE = 100, KEPT_S = 600, SILENT_MS = 40000, FRESH_MS = 20000, RATE_S = 15, RATE_LEAST_S = 5, SPAN_LEAST_S = 60;
  const at = (id) => document.getElementById(id);
  const number = (value) => Number(value).toLocaleString('en');
  const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
  const flag = (node, name, on) => { if (node.classList.contains(name) !== on) node.classList.toggle(name, on); };
  const show = (node, on) => { if (node.hidden === on) node.hidden = !on; };

  let token = sessionStorage.getItem('anteroom.token') || '';
  let hello = {}, ahead = 0;          // ahead: the publisher's clock minus this one, ms
  let after = [], search = '', more = false; // pages gone through, by the id each comes after
  let redisUp = true, linked = false, linkedAt = 0, heardAt = 0, trouble = '', gateways = null; // gateways: how many are alive
  let chosen = '', dirty = false, version = 0; // version: of what the fields were filled from
  const items = new Map(), samples = new Map(), rows = new Map();
  let fresh = new Set();              // told since the stream is open; the others may be gone, 20 s later they are

  // ---- talking to the publisher ----

  class Refused extends Error {
    constructor(status, problem) {
      super(problem.detail || problem.title || 'The publisher answered ' + status + '.');
      this.status = status;
      this.errors = problem.errors || [];
    }
  }
  const call = async (method, path, body, headers) => {
    const options = {method, headers: {Authorization: 'Bearer ' + token, ...headers}, cache: 'no-store', credentials: 'omit'};
    if (body !== undefined) {
      options.body = JSON.stringify(body);
      options.headers['Content-Type'] = 'application/json';
    }
    let answer;
    try {
      answer = await fetch(path, options);
    } catch {
      throw new Refused(0, {detail: 'The publisher did not answer. Whether it was done is not known: look at the figures.'});
    }
    if (answer.status === 401) leave('This token is not in the admin token file (any more).');
    if (!answer.ok) throw new Refused(answer.status, await answer.json().catch(() => ({})));
    return answer.status === 204 ? null : answer.json();
  };

  // ---- verdicts: what happens in a session, in words ----

  const duration = (seconds) => {
    const part = (n) => String(n).padStart(2, '0');
    const s = Math.max(0, Math.ceil(seconds)), hours = Math.floor(s / 3600);
    if (hours >= 48) return Math.floor(hours / 24) + ' days';
    return (hours ? hours + ':' + part(Math.floor(s / 60) % 60) : Math.floor(s / 60)) + ':' + part(s % 60);
  };
  const now = () => Date.now() + ahead;
  const people = (count) => number(count) + (count === 1 ? ' person' : ' people');
  const stockLeft = (item) => item.stock < 0 ? null : Math.max(0, item.stock - item.live.admitted);
  const adaptive = (item) => item.adaptive || {};
  // Why nobody is let in: the reason of the owner, or what can be told without it.
  const reasonOf = (item) => {
    if (item.live.held) return item.live.held;
    if (item.status === 'paused') return 'paused';
    if (item.live.phase === 'sold-out' || stockLeft(item) === 0) return 'sold-out';
    if (item.activeLimit > 0 && item.live.active >= item.activeLimit) return 'active-limit';
    return '';
  };
  const HELD = {
    'paused': () => ['Paused', 'An operator paused it: people may join, nobody is let in. Resume lets them in.'],
    'load-missing': (item) => ['Held: no load', 'The site does not report its load (key ' + adaptive(item).loadKey + '), and this session holds then. See how the site is; to go on without, change onMissing.'],
    'load-high': (item) => ['Held: site is busy', 'The site reports ' + number(item.live.loadTps || 0) + ' requests a second; at ' + number(adaptive(item).maxTps || 0) + ' nobody more is let in. It goes on by itself.'],
    'active-limit': (item) => ['Held: site is full', number(item.live.active) + ' of ' + number(item.activeLimit) + ' are inside. The next comes in when one is done or an entry expires. Or raise the limit.'],
    'sold-out': () => ['Sold out', 'As many were let in as there is stock. Whoever waits is told so. Raising the stock opens it again.'],
    'not-started': () => ['Not started', 'It starts at the time set.'],
  };
  const verdict = (item) => {
    const live = item.live, reason = reasonOf(item), starts = Date.parse(item.startsAt || ''), ends = Date.parse(item.endsAt || '');
    const waiting = live.waiting > 0;
    if (item.status === 'closed') return {tone: waiting ? 'held' : '', word: 'Closed', why: 'Nobody can join. ' + (waiting ? people(live.waiting) + ' are being told so.' : 'Reopen lets people join again.')};
    if (starts > now()) return {tone: '', word: 'Opens in ' + duration((starts - now()) / 1000), why: item.lobby === 'none' ? 'Nobody can join before.' : people(live.lobby) + ' in the lobby; the order is ' + (item.lobby === 'lottery' ? 'drawn by lot.' : 'that of arrival.')};
    if (ends <= now()) return {tone: waiting ? 'held' : '', word: 'Ended', why: 'It ended at ' + clock(ends) + '.'};
    if (live.phase === 'drawing') return {tone: 'ok', word: 'Drawing', why: 'The lobby moves into the line: ' + number(live.lobby) + ' left.'};
    if (!live.owner) return {tone: waiting ? 'bad-state' : '', word: 'No owner', why: 'No publisher looks after it: nobody is let in until one does.'};
    if (reason && (waiting || reason === 'paused' || reason === 'sold-out')) {
      const [word, why] = (HELD[reason] || (() => ['Held: ' + reason, 'The publisher says: ' + reason + '.']))(item);
      return {tone: reason === 'sold-out' && !waiting ? '' : 'held', word, why};
    }
    if (!waiting) return {tone: '', word: 'Nobody waits', why: 'Who comes goes straight in.'};
    const still = stillFor(item.sessionId), patience = Math.max(15, 3 * item.intervalMs / 1000);
    if (still > patience) return {tone: 'bad-state', word: 'Stuck?', why: 'People wait, no reason is known, and nobody was let in for ' + duration(still) + '. Look at the publisher’s log and at Redis.'};
    return {tone: 'ok', word: 'Letting in', why: people(live.waiting) + ' waiting; ' + number(item.batch) + ' every ' + number(item.intervalMs / 1000) + ' s' + (live.cap === null ? '' : ', as the site’s load allows ' + number(live.cap)) + '.'};
  };
  const clock = (ms) => new Date(ms).toLocaleTimeString('en-GB');

  // ---- figures over time: one sample a second of each session that is told about ----

  const sample = () => {
    const s = Math.floor(Date.now() / 1000);
    for (const [id, item] of items) {
      const line = samples.get(id) || [];
      samples.set(id, line);
      const last = line[line.length - 1];
      if (last && last.s === s) continue;
      const grew = !last || item.live.admitted !== last.admitted || item.live.epoch !== last.epoch;
      line.push({s, waiting: item.live.waiting + item.live.lobby, admitted: item.live.admitted, epoch: item.live.epoch,
        moved: grew || item.live.waiting === 0 ? s : last.moved});
      while (line[0].s < s - KEPT_S) line.shift();
    }
  };
  const stillFor = (id) => {
    const line = samples.get(id), last = line && line[line.length - 1];
    return last ? last.s - last.moved : 0;
  };
  // Admissions a second at sample I, over the seconds before it: batches come in steps.
  const rateAt = (line, i, over) => {
    let from = i;
    while (from > 0 && line[i].s - line[from].s < over && line[from - 1].epoch === line[i].epoch) from--;
    const seconds = line[i].s - line[from].s;
    return seconds >= RATE_LEAST_S ? Math.max(0, line[i].admitted - line[from].admitted) / seconds : null; // null: not known yet
  };
  const rateOver = (item) => Math.max(RATE_S, 2 * item.intervalMs / 1000);
  const rateText = (rate) => rate === null ? '…' : rate === 0 ? '0' : rate < 10 ? rate.toFixed(1) : number(Math.round(rate));
  // A line from the left edge, as long as it has been looked at (a minute at least); gives the highest value.
  const spanOf = (line) => line.length ? Math.max(SPAN_LEAST_S, line[line.length - 1].s - line[0].s) : SPAN_LEAST_S;
  const draw = (svg, line, value, width, height) => {
    const span = spanOf(line), step = Math.max(1, Math.floor(line.length / width)), points = [];
    let most = 0;
    for (let i = (line.length - 1) % step; i >= 0 && i < line.length; i += step) {
      const v = value(line, i);
      most = Math.max(most, v);
      if (v !== null) points.push([width - (line[line.length - 1].s - line[i].s) * width / span, v]);
    }
    svg.firstElementChild.setAttribute('points', points.map(([x, v]) =>
      x.toFixed(1) + ',' + (height - 1 - (most ? v / most : 0) * (height - 3)).toFixed(1)).join(' '));
    return most;
  };
  const waitingAt = (line, i) => line[i].waiting;

  // ---- the list ----

  const SVG = 'http://www.w3.org/2000/svg';
  const make = (tag, className, parent) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (parent) parent.append(node);
    return node;
  };
  const rowMake = (id) => {
    const row = make('tr'), cells = [0, 1, 2, 3, 4, 5].map((i) => make('td', i === 2 || i > 3 ? 'figure' : '', row));
    const name = make('button', '', cells[0]), tag = make('span', 'tag', cells[0]), pill = make('span', 'pill', cells[1]);
    const svg = document.createElementNS(SVG, 'svg');
    name.type = 'button';
    name.title = name.textContent = id;
    tag.textContent = 'rehearsal';
    svg.setAttribute('viewBox', '0 0 80 20');
    svg.setAttribute('preserveAspectRatio', 'none');
    svg.setAttribute('aria-hidden', 'true');
    svg.append(document.createElementNS(SVG, 'polyline'));
    cells[3].append(svg);
    row.addEventListener('click', () => choose(id));
    const made = {row, name, tag, pill, svg, waiting: cells[2], rate: cells[4], eta: cells[5]};
    rows.set(id, made);
    const next = [...rows.keys()].filter((other) => other > id && rows.get(other).row.isConnected).sort()[0];
    at('rows').insertBefore(row, next ? rows.get(next).row : null);
    return made;
  };
  const etaText = (item) => item.live.waiting === 0 ? '–' : item.live.etaSeconds === null ? '?' : duration(item.live.etaSeconds);
  const toneOf = (node, tone) => ['ok', 'held', 'bad-state'].forEach((name) => flag(node, name, name === tone));
  const rowDraw = (id, item) => {
    const row = rows.get(id) || rowMake(id), line = samples.get(id) || [], said = verdict(item);
    put(row.pill, said.word);
    row.pill.title = said.why;
    toneOf(row.pill, said.tone);
    show(row.tag, item.virtual);
    put(row.waiting, number(item.live.waiting + item.live.lobby));
    put(row.rate, rateText(line.length ? rateAt(line, line.length - 1, rateOver(item)) : null));
    put(row.eta, etaText(item));
    draw(row.svg, line, waitingAt, 80, 20);
    if (id === chosen) row.row.setAttribute('aria-current', 'true');
    else row.row.removeAttribute('aria-current');
  };
  const rowDrop = (id) => {
    items.delete(id);
    samples.delete(id);
    if (rows.has(id)) rows.get(id).row.remove();
    rows.delete(id);
  };

  // ---- the one line that says it all ----

  const verdictDraw = () => {
    const all = [...items.values()], waiting = all.filter((item) => item.live.waiting > 0);
    const stopped = waiting.filter((item) => ['held', 'bad-state'].includes(verdict(item).tone));
    const count = (list) => list.reduce((sum, item) => sum + item.live.waiting, 0);
    const box = at('verdict'), links = at('verdict-links');
    let tone = '', word, why;
    if (!linked) [tone, word, why] = ['bad-state', 'No connection', 'These figures are of ' + clock(heardAt || Date.now()) + '. Trying again …'];
    else if (!redisUp) [tone, word, why] = ['bad-state', 'Redis is down', 'Nobody joins and nobody is let in. These figures are of before.'];
    else if (gateways === 0) [tone, word, why] = ['bad-state', 'No gateway is alive', 'Nobody can join, and nobody in line hears anything.'];
    else if (stopped.length) [tone, word, why] = ['held', people(count(stopped)) + ' wait and nobody is let in', 'in ' + (stopped.length === 1 ? 'one session:' : stopped.length + ' sessions:')];
    else if (waiting.length) [tone, word, why] = ['ok', 'People are let in', people(count(waiting)) + ' waiting in ' + (waiting.length === 1 ? 'one session.' : waiting.length + ' sessions.')];
    else [word, why] = ['Nobody waits', all.length ? 'in the sessions shown here.' : ''];
    toneOf(box, tone);
    put(at('verdict-word'), word);
    put(at('verdict-why'), why);
    const ids = linked && redisUp ? stopped.slice(0, 6) : [];
    const key = ids.map((item) => item.sessionId + verdict(item).word).join();
    if (links.dataset.key !== key) {
      links.dataset.key = key;
      links.replaceChildren(...ids.map((item) => {
        const button = make('button');
        button.type = 'button';
        button.textContent = item.sessionId + ': ' + verdict(item).word;
        button.addEventListener('click', () => choose(item.sessionId));
        return button;
      }));
    }
    flag(document.body, 'stale', !linked || !redisUp);
    document.title = (tone === 'held' || tone === 'bad-state' ? '(!) ' : '') + word + ' – anteroom console';
  };

  // ---- one session ----

  const FIELDS = ['batch', 'intervalMs', 'stock', 'activeLimit'];
  const fill = (item) => {
    for (const name of FIELDS) {
      at(name).value = item[name];
      flag(at(name), 'changed', false);
      fieldError(name, '');
    }
    dirty = false;
    version = item.version;
  };
  const fieldError = (name, text) => {
    put(at('e-' + name), text);
    at(name).setAttribute('aria-invalid', String(text !== ''));
  };
  const say = (id, text, tone) => {
    put(at(id), text);
    flag(at(id), 'bad', tone === 'bad');
    flag(at(id), 'good', tone === 'good');
  };
  const choose = (id) => {
    if (!items.has(id)) return;
    if (id !== chosen) {
      chosen = id;
      ['verb-said', 'pace-said', 'e-message', 'crowd-said'].forEach((name) => say(name, ''));
      at('message').value = '';
      ['count', 'perSecond'].forEach((name) => fieldError(name, ''));
      fill(items.get(id));
    }
    drawAll();
  };
  const figures = (item) => {
    const live = item.live, left = stockLeft(item), lobby = Date.parse(item.startsAt || '') > now() || live.phase === 'drawing';
    const line = samples.get(item.sessionId) || [], over = rateOver(item), ratesAt = (of, i) => rateAt(of, i, over);
    put(at('t-waiting'), lobby ? 'In the lobby' : 'Waiting');
    put(at('f-waiting'), number(lobby ? live.lobby : live.waiting));
    put(at('f-rate'), rateText(line.length ? ratesAt(line, line.length - 1) : null));
    put(at('f-eta'), etaText(item));
    put(at('f-admitted'), number(live.admitted));
    put(at('f-stock'), left === null ? '–' : number(left) + ' of ' + number(item.stock));
    put(at('f-active'), number(live.active) + ' / ' + (item.activeLimit ? number(item.activeLimit) : '–'));
    put(at('f-parked'), number(live.parked));
    put(at('f-load'), !item.adaptive ? '–' : (live.loadTps === null ? 'none' : number(Math.round(live.loadTps))) + ' / ' + (live.cap === null ? '–' : number(live.cap)));
    ['w-span', 'a-span'].forEach((id) => put(at(id), 'last ' + Math.ceil(spanOf(line) / 60) + ' min'));
    put(at('w-now'), number(lobby ? live.lobby : live.waiting));
    put(at('w-most'), number(draw(at('w-chart'), line, waitingAt, 300, 60)));
    put(at('a-now'), at('f-rate').textContent);
    put(at('a-most'), rateText(draw(at('a-chart'), line, ratesAt, 300, 60)));
  };
  const detailDraw = () => {
    const item = items.get(chosen);
    show(at('detail'), Boolean(item));
    if (!item) return;
    const live = item.live, said = verdict(item), mine = !live.owner || live.owner === hello.publisherId;
    put(at('d-id'), item.sessionId);
    show(at('d-rehearsal'), item.virtual);
    show(at('d-adaptive'), Boolean(item.adaptive));
    put(at('d-word'), said.word);
    toneOf(at('d-word'), said.tone);
    put(at('d-why'), said.why + (mine ? '' : ' Publisher ' + live.owner + ' owns it: its pace, load and reasons are in that one’s console.'));
    figures(item);
    flag(at('d-crowd'), 'away', !live.crowd); // its room stays: what is below must not jump under the mouse
    if (live.crowd) {
      put(at('crowd-text'), number(live.crowd.made) + ' of ' + number(live.crowd.count) + ' virtual people sent, ' + number(live.crowd.perSecond) + ' a second');
      at('crowd-bar').value = live.crowd.made / live.crowd.count;
    }
    at('d-notice').title = live.notice || '';
    put(at('d-notice'), live.notice ? 'Notice shown since ' + clock(Date.parse(live.noticeAt)) + ': “' + live.notice + '”' : 'No notice is shown.');
    put(at('d-facts'), 'Version ' + item.version + ' · owner ' + (live.owner || 'none') + ' · let in up to ticket ' + number(live.head) + ' of ' + number(live.tail) +
      (item.startsAt ? ' · starts ' + item.startsAt : '') + (item.endsAt ? ' · ends ' + item.endsAt : ''));
    show(at('changes'), !hello.readOnly);
    show(at('pause'), item.status === 'open');
    show(at('resume'), item.status !== 'open');
    put(at('resume'), item.status === 'closed' ? 'Reopen' : 'Resume');
    at('close').disabled = item.status === 'closed';
    at('hush').disabled = !live.notice;
    show(at('crowd'), item.virtual);
    if (!dirty && item.version !== version) fill(item);
    if (dirty && item.version !== version && at('pace-said').textContent === '')
      say('pace-said', 'This session was changed while you edit (version ' + version + ' is now ' + item.version + '). Undo shows the new values.', 'bad');
  };
  const drawAll = () => {
    for (const [id, item] of items) rowDraw(id, item);
    show(at('none'), linked && items.size === 0);
    verdictDraw();
    detailDraw();
    flag(at('link'), 'bad', !linked || !redisUp);
    put(at('link'), !linked ? (trouble || 'no connection') + ', trying again' : !redisUp ? 'Redis is down' : 'live, ' + clock(now()));
    pageDraw();
  };

  // ---- gateways ----

  const isNew = (server) => !server.alive && server.silentMs === null; // not judged yet
  const serversDraw = (told) => {
    at('server-rows').replaceChildren(...told.items.sort((a, b) => a.server < b.server ? -1 : 1).map((server) => {
      const row = make('tr'), cells = [0, 1, 2, 3, 4].map((i) => make('td', i > 1 ? 'figure' : '', row));
      const age = (now() - Date.parse(server.heartbeatAt)) / 1000, pill = make('span', 'pill ' + (server.alive ? 'ok' : isNew(server) ? '' : 'bad-state'), cells[1]);
      cells[0].textContent = cells[0].title = server.server;
      pill.textContent = server.alive ? 'alive, ' + Math.max(0, age).toFixed(0) + ' s ago' : isNew(server) ? 'new' : 'silent for ' + duration((server.silentMs || 0) / 1000);
      [server.sessions, server.lag, server.pending].forEach((value, i) => { cells[2 + i].textContent = value === null ? '–' : number(value); });
      return row;
    }));
    gateways = told.items.filter((server) => server.alive || isNew(server)).length;
    show(at('no-servers'), told.items.length === 0);
    if (told.more > 0) make('td', 'quiet', make('tr', '', at('server-rows'))).textContent = 'and ' + told.more + ' more';
  };

  // ---- changes ----

  const WORDS = {0: '', 403: 'This token may only read.', 404: 'The session is gone.'};
  // 412 in words: nothing was saved, and what is shown by now is what the other one made of it.
  const explain = (refused) => refused.status === 412
    ? 'Somebody else changed this session meanwhile, so nothing was done. Look at it as it is now, then do it again.'
    : WORDS[refused.status] || refused.message;
  // What the other one made of it, beside what was typed: saving once more is then on purpose.
  const newest = async () => {
    const item = await call('GET', path('')).catch(() => null);
    if (!item) return;
    if (dirty) {
      version = item.version;
      FIELDS.filter((name) => at(name).value !== String(item[name])).forEach((name) => fieldError(name, 'is ' + number(item[name]) + ' now'));
    }
    took(item);
  };
  const attempt = async (said, work, done) => {
    say(said, '…');
    try {
      await work();
      say(said, done, 'good');
    } catch (refused) {
      if (!(refused instanceof Refused)) throw refused;
      const known = refused.errors.filter(({field}) => at('e-' + field));
      known.forEach(({field, detail}) => { fieldError(field, detail.replace(/^must/, 'Must')); });
      const other = refused.errors.filter(({field}) => !at('e-' + field)).map(({field, detail}) => field + ' ' + detail);
      say(said, known.length && !other.length ? 'Nothing was changed: see the fields.' : [...other, explain(refused)].join(' '), 'bad');
      if (refused.status === 412) await newest();
    }
  };
  const path = (rest) => '/admin/sessions/' + encodeURIComponent(chosen) + rest;
  const match = () => ({'If-Match': '"' + items.get(chosen).version + '"'});
  const took = (item) => { if (item && item.sessionId) { items.set(item.sessionId, item); drawAll(); } };
  // Pausing always works, whatever somebody else does at the same time; everything else is for what the operator saw.
  const verb = (name, done, headers) => attempt('verb-said', async () => took(await call('POST', path('/' + name), undefined, headers)), done);

  const sure = (title, text, what, yes, then) => {
    put(at('sure-title'), title);
    put(at('sure-text'), text);
    put(at('sure-what'), what);
    put(at('sure-yes'), yes);
    at('sure-id').value = '';
    at('sure-yes').disabled = true;
    at('sure').showModal();
    const headers = match();
    at('sure-id').oninput = () => { at('sure-yes').disabled = at('sure-id').value !== what; };
    at('sure-form').onsubmit = (event) => {
      event.preventDefault();
      if (at('sure-id').value !== what) return;
      at('sure').close();
      then(headers);
    };
  };
  at('sure-no').addEventListener('click', () => at('sure').close());
  at('pause').addEventListener('click', () => verb('pause', 'Paused.'));
  at('resume').addEventListener('click', () => verb('resume', 'Open.', match()));
  at('close').addEventListener('click', () => sure('Close ' + chosen + '?', people(items.get(chosen).live.waiting) + ' waiting are told that it is closed and lose their places. Nobody can join.',
    chosen, 'Close it', (headers) => verb('close', 'Closed.', headers)));
  at('clear').addEventListener('click', () => sure('Clear ' + chosen + '?', people(items.get(chosen).live.waiting) + ' waiting lose their places for good. The line stays open for those who come after.',
    chosen, 'Clear the line', (headers) => verb('clear', 'Cleared.', headers)));

  at('pace').addEventListener('input', () => {
    const item = items.get(chosen);
    FIELDS.forEach((name) => flag(at(name), 'changed', at(name).value !== String(item[name])));
    dirty = FIELDS.some((name) => at(name).classList.contains('changed'));
    say('pace-said', '');
  });
  at('pace').addEventListener('reset', (event) => {
    event.preventDefault();
    fill(items.get(chosen));
    say('pace-said', '');
  });
  at('pace').addEventListener('submit', (event) => {
    event.preventDefault();
    FIELDS.forEach((name) => fieldError(name, ''));
    const changed = FIELDS.filter((name) => at(name).classList.contains('changed'));
    if (!changed.length) return say('pace-said', 'Nothing to save.');
    const patch = Object.fromEntries(changed.map((name) => [name, at(name).value === '' ? 'nothing' : Number(at(name).value)]));
    attempt('pace-said', async () => {
      const item = await call('PATCH', path(''), patch, {'If-Match': '"' + version + '"'});
      dirty = false;
      took(item);
    }, 'Saved.');
  });

  const announce = (message, done) => attempt('e-message', async () => { took(await call('POST', path('/announce'), {message})); at('message').value = ''; }, done);
  at('announce').addEventListener('submit', (event) => {
    event.preventDefault();
    if (at('message').value.trim()) announce(at('message').value, 'Everybody in this line is told.');
    else say('e-message', 'Write what they should read.', 'bad');
  });
  at('hush').addEventListener('click', () => announce('', 'Taken back.'));
  at('crowd').addEventListener('submit', (event) => {
    event.preventDefault();
    ['count', 'perSecond'].forEach((name) => fieldError(name, ''));
    const body = Object.fromEntries(['count', 'perSecond'].map((name) => [name, Number(at(name).value)]));
    attempt('crowd-said', () => call('POST', path('/crowd'), body), 'The crowd is on its way.');
  });

  // ---- the stream ----

  let stream; // of the AbortController that ends it
  const EVENTS = {
    hello: (data) => {
      hello = data;
      ahead = Date.parse(data.now) - Date.now();
      put(at('who'), data.actor + (data.readOnly ? ' (may only read)' : '') + ' · publisher ' + data.publisherId + ' · ' + data.version);
    },
    redis: (data) => { redisUp = data.up; },
    servers: serversDraw,
    session: (item) => {
      fresh.add(item.sessionId);
      items.set(item.sessionId, item);
      if (!chosen) choose(item.sessionId);
    },
    gone: ({sessionId}) => {
      rowDrop(sessionId);
      if (sessionId === chosen) chosen = '';
    },
  };
  let drawing = false;
  const drawSoon = () => {
    if (drawing) return;
    drawing = true;
    setTimeout(() => { drawing = false; drawAll(); }, 50);
  };
  const take = (frame) => {
    const fields = Object.fromEntries(frame.split('\n').filter((line) => line && !line.startsWith(':')).map((line) => line.split(/: (.*)/s).slice(0, 2)));
    heardAt = Date.now();
    if (fields.data && EVENTS[fields.event]) EVENTS[fields.event](JSON.parse(fields.data));
    drawSoon();
  };
  const read = async (query, signal) => {
    const answer = await fetch('/admin/events' + query, {headers: {Authorization: 'Bearer ' + token}, cache: 'no-store', credentials: 'omit', signal});
    if (answer.status === 401) leave('This token is not in the admin token file (any more).');
    if (!answer.ok) {
      trouble = (await answer.json().catch(() => ({}))).title || 'the publisher answered ' + answer.status;
      return;
    }
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    linked = true;
    trouble = '';
    fresh = new Set();
    linkedAt = heardAt = Date.now();
    for (let rest = ''; ;) {
      const {value, done} = await reader.read();
      if (done) return;
      const frames = (rest + value).split('\n\n');
      rest = frames.pop();
      frames.forEach(take);
    }
  };
  // The first page is told as it changes, others are of the sessions that were there when it was turned to.
  const named = async () => {
    if (!search && !after.length) return '';
    const from = after.length ? after[after.length - 1] : search;
    const page = await call('GET', '/admin/sessions?limit=' + PAGE + (from ? '&after=' + encodeURIComponent(from) : ''));
    const ids = page.items.map((item) => item.sessionId);
    if (search && !after.length) ids.unshift(search); // the one of this very id; it is "gone" if there is none
    const fits = ids.filter((id) => id.startsWith(search)).slice(0, PAGE);
    more = Boolean(page.next) && fits.length === PAGE;
    return fits.length ? '?sessions=' + fits.map(encodeURIComponent).join(',') : null;
  };
  const follow = async () => {
    const control = stream = new AbortController();
    for (let pause = 1000; token && stream === control; pause = Math.min(2 * pause, 10000)) {
      try {
        const query = await named();
        if (stream !== control) return;
        if (query === null) {
          linked = true;
          drawAll();
          return;
        }
        await read(query, control.signal);
      } catch (error) {
        trouble = error instanceof Refused ? '' : trouble; // else the way broke
        if (stream !== control) return;
      }
      if (linked) pause = 1000;
      linked = false;
      drawAll();
      await new Promise((wake) => { setTimeout(wake, pause); });
    }
  };
  const turn = () => {
    if (stream) {
      const old = stream;
      stream = null;
      old.abort();
    }
    [...rows.keys()].forEach(rowDrop);
    items.clear();
    chosen = '';
    more = false;
    follow();
  };

  // ---- pages and search ----

  const pageDraw = () => {
    if (!search && !after.length) more = items.size >= PAGE;
    put(at('page'), 'page ' + (after.length + 1));
    at('back').disabled = after.length === 0;
    at('on').disabled = !more;
  };
  at('on').addEventListener('click', () => {
    after.push([...items.keys()].sort().pop());
    turn();
  });
  at('back').addEventListener('click', () => {
    after.pop();
    turn();
  });
  let typing;
  at('search').addEventListener('input', () => {
    clearTimeout(typing);
    typing = setTimeout(() => {
      if (!at('search').checkValidity()) return;
      search = at('search').value;
      after = [];
      turn();
    }, 300);
  });
  at('find').addEventListener('submit', (event) => event.preventDefault());
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) || at('sure').open) return;
    event.preventDefault();
    at('search').focus();
  });

  // ---- coming and going ----

  const leave = (why) => {
    token = '';
    sessionStorage.removeItem('anteroom.token');
    if (stream) stream.abort();
    stream = null;
    [...rows.keys()].forEach(rowDrop);
    items.clear();
    if (at('sure').open) at('sure').close();
    show(at('app'), false);
    show(at('enter'), true);
    put(at('enter-error'), why || '');
    document.title = 'anteroom console';
    at('token').focus();
  };
  const enter = () => {
    show(at('enter'), false);
    show(at('app'), true);
    put(at('enter-error'), '');
    after = [];
    search = at('search').value = '';
    turn();
  };
  at('enter').addEventListener('submit', (event) => {
    event.preventDefault();
    token = at('token').value.trim();
    at('token').value = '';
    sessionStorage.setItem('anteroom.token', token);
    enter();
  });
  at('leave').addEventListener('click', () => leave());
  setInterval(() => {
    if (!token) return;
    if (linked && redisUp) sample();
    if (linked && redisUp && Date.now() - linkedAt > FRESH_MS)
      [...items.keys()].filter((id) => !fresh.has(id)).forEach((sessionId) => EVENTS.gone({sessionId}));
    if (linked && stream && heardAt && Date.now() - heardAt > SILENT_MS) { // comments come every 15 s: the way is dead
      const dead = stream;
      stream = null;
      linked = false;
      dead.abort();
      follow();
    }
    drawAll();
  }, 1000);

  if (token) enter();
  else leave();
})();
