'use strict';

// ---- Words --------------------------------------------------------------------------------------

const chinese = {
  title: '锁', connecting: '连接中…', live: '实时', away: '连接断开', unread: 'Redis 不可达', filter: '筛选',
  pause: '暂停', held: '持有中的锁', lock: '锁', kind: '类型', holder: '持有者', since: '开始时间',
  lease: '剩余租期', waiting: '等待', none: '没有被持有的锁。', events: '事件', quiet: '还没有事件。',
  footer: '本页只读。"等待"是排队或监听释放消息的客户端数。', paused: '已暂停', acquired: '获得', released: '释放',
  gone: '租期已过', before: '早于 {0}', forever: '无租期', others: '另有 {0} 个', reading: '正在扫描…',
  sum: '{0} 把锁 · {1} 个客户端在等', more: '还有约 {0} 把锁没有显示：请用 PATTERN 缩小范围。',
  loose: '（无前缀）', read: '读', write: '写', times: '×{0}'
};
const english = {
  live: 'live', away: 'away: trying again', unread: 'Redis is away', paused: 'paused', acquired: 'acquired',
  released: 'released', gone: 'lease ended', before: 'before {0}', forever: 'none', others: 'and {0} more',
  reading: 'scanning…', sum: 'locks: {0} · waiting clients: {1}', loose: '(no prefix)', read: 'reads',
  write: 'writes', times: '×{0}',
  more: 'About {0} more locks are not shown: narrow the page with a PATTERN.'
};
const is_chinese = navigator.language.toLowerCase().startsWith('zh');
const words = is_chinese ? {...english, ...chinese} : english;
const say = (word, ...values) => words[word].replace(/\{(\d)\}/g, (_, n) => values[n]);

if (is_chinese) {
  document.documentElement.lang = 'zh-CN';
  document.title = words.title;
  for (const each of document.querySelectorAll('[data-say]'))
    each.textContent = words[each.dataset.say];
}

// ---- Elements -----------------------------------------------------------------------------------

const at = id => document.getElementById(id);

/** Text of the server, with what the eye would not see written out. It is never taken for HTML. */
const visible = text => text.replace(
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
  c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

function make(tag, attributes = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** Changes nothing that is so already: a reader of the screen would lose its place. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const clock = ms => new Date(ms).toLocaleTimeString(is_chinese ? 'zh-CN' : [], {hour12: false});

function duration(ms) {
  const seconds = ms / 1000;
  if (seconds < 60) return seconds.toFixed(1) + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + Math.floor(seconds % 60) + ' s';
  return Math.floor(seconds / 3600) + ' h ' + Math.floor(seconds % 3600 / 60) + ' min';
}

// ---- The table ----------------------------------------------------------------------------------

const prefix_of = key => key.slice(0, key.lastIndexOf(':') + 1);
const groups = new Map();  // by prefix: {body, head, button, count, rows by key}
const folded = new Set();

function make_group(prefix) {
  const button = make('button', {type: 'button'});
  const count = make('span', {class: 'count'});
  button.append(prefix ? visible(prefix) : say('loose'));
  const th = make('th', {role: 'rowheader', scope: 'rowgroup', colspan: 6}, button, ' ', count);
  const body = make('tbody', {role: 'rowgroup'}, make('tr', {role: 'row'}, th));
  button.onclick = () => {
    folded.has(prefix) ? folded.delete(prefix) : folded.add(prefix);
    draw();
  };
  return {body, button, count, rows: new Map()};
}

function make_row(lock) {
  const row = make('tr', {role: 'row', class: was_whole ? 'fresh' : ''},
    make('th', {role: 'rowheader', scope: 'row'}, visible(lock.key)));
  for (const name of ['kind', 'holder', 'since', 'lease', 'waiting'])
    row.append(make('td', {role: 'cell', class: name, 'data-name': document.querySelector(
      `thead [data-say=${name}]`).textContent}));
  return row;
}

/** What the server says of a holder; else since when this page's server has seen it. */
function since(holder) {
  if (holder.held_ms !== undefined) return clock(Math.round((state.time - holder.held_ms) / 1000) * 1000);
  return holder.seen_to_come ? clock(holder.seen_at) : say('before', clock(holder.seen_at));
}

function holder_text(holder) {
  let more = holder.side ? ' (' + say(holder.side) + ')' : '';
  if (holder.depth > 1) more += ' ' + say('times', holder.depth);
  return visible(holder.label ? holder.label + ' · ' + holder.owner : holder.owner) + more;
}

function fill(row, lock) {
  const [, kind, holder, from, lease, waiting] = row.children;
  put(kind, lock.kind || '');
  const lines = lock.holders.map(holder_text);
  if (lock.more_holders) lines.push(say('others', lock.more_holders));
  if (holder.dataset.lines !== JSON.stringify(lines)) {
    holder.dataset.lines = JSON.stringify(lines);
    holder.replaceChildren(...lines.map(each => make('div', {class: 'owner'}, each)));
  }
  put(from, lock.holders.length ? since(lock.holders[0]) : '');
  put(lease, lock.lease_ms === null ? say('forever') : duration(lock.lease_ms));
  lease.classList.toggle('forever', lock.lease_ms === null);
  put(waiting, String(lock.waiting));
  waiting.toggleAttribute('data-some', lock.waiting > 0);
}

/** Puts the elements in this order, and moves none that stands well. */
function order(parent, first, wanted) {
  let place = first;
  for (const each of wanted) {
    if (each === place) place = place.nextSibling;
    else parent.insertBefore(each, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

let state = null;
let was_whole = false;  // the first locks to show are not new
let is_paused = false;

function draw() {
  if (!state) return;
  const filter = at('filter').value.toLowerCase();
  const shown = state.locks.filter(each => (each.key + ' ' + each.holders.map(holder_text).join(' '))
    .toLowerCase().includes(filter));
  const by_prefix = new Map();
  for (const each of shown) {
    const prefix = prefix_of(each.key);
    if (!by_prefix.has(prefix)) by_prefix.set(prefix, []);
    by_prefix.get(prefix).push(each);
  }
  for (const prefix of groups.keys()) if (!by_prefix.has(prefix)) groups.delete(prefix);
  for (const [prefix, locks] of by_prefix) {
    if (!groups.has(prefix)) groups.set(prefix, make_group(prefix));
    const group = groups.get(prefix), is_open = !folded.has(prefix), rows = new Map();
    group.button.setAttribute('aria-expanded', is_open);
    put(group.count, String(locks.length));
    for (const lock of locks) {
      const row = group.rows.get(lock.key) || make_row(lock);
      fill(row, lock);
      row.hidden = !is_open;
      rows.set(lock.key, row);
    }
    group.rows = rows;
    order(group.body, group.body.firstChild.nextSibling, rows.values());
  }
  const bodies = [...by_prefix.keys()].map(prefix => groups.get(prefix).body);
  order(at('locks'), document.querySelector('thead').nextSibling, bodies);

  put(at('place'), visible(state.place) + (state.pattern === '*' ? '' : ' · ' + visible(state.pattern)));
  const waiting = shown.reduce((sum, each) => sum + each.waiting, 0);
  put(at('sum'), say('sum', shown.length, waiting) + (state.is_whole ? '' : ' · ' + say('reading')));
  at('none').hidden = shown.length !== 0 || !state.is_whole;
  at('more').hidden = !state.left_out;
  put(at('more'), say('more', state.left_out));
  at('trouble').hidden = !state.trouble;
  put(at('trouble'), visible(state.trouble));
  at('locks').classList.toggle('stale', state.is_away);
  was_whole = was_whole || state.is_whole;
}

// ---- Events -------------------------------------------------------------------------------------

const most_events = 200;

function add_event(change) {
  const time = make('time', {datetime: new Date(change.time).toISOString()}, clock(change.time));
  const side = change.side ? ' (' + say(change.side) + ')' : '';
  at('events').prepend(make('li', {class: change.event}, time,
    make('span', {class: 'what'}, say(change.event)), make('span', {}, visible(change.key)),
    make('span', {class: 'owner'}, visible(change.label || change.owner) + side)));
  while (at('events').children.length > most_events) at('events').lastChild.remove();
}

// ---- The stream ---------------------------------------------------------------------------------

function show_link(word) {
  put(at('link'), say(word));
  at('link').className = word === 'live' ? 'live' : 'away';
}

function listen() {
  const source = new EventSource('/events');
  source.addEventListener('locks', event => {
    if (is_paused) return;
    state = JSON.parse(event.data);
    show_link(state.is_away ? 'unread' : 'live');
    draw();
  });
  source.addEventListener('change', event => {
    if (!is_paused) add_event(JSON.parse(event.data));
  });
  source.onerror = () => {
    was_whole = false;
    at('locks').classList.add('stale');
    show_link('away');
    // After a refusal, as where too many read the page, the browser does not try again.
    if (source.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
}
listen();

at('filter').oninput = draw;
at('controls').onsubmit = event => event.preventDefault();
at('pause').onclick = () => {
  is_paused = !is_paused;
  at('pause').setAttribute('aria-pressed', is_paused);
  if (is_paused) show_link('paused');
};
