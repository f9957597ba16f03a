/* The page: what there is on the left, what was chosen on the right. The server is asked every two seconds; what happens in
 * the sandbox that is looked at comes by itself. */
import {ApiError, api, badge, el, lines, short, toast} from './api.js';
import {RunView} from './runs.js';
import {TerminalView} from './term.js';
import {ActivityView, anyEvent, HostView, SandboxView, violation} from './views.js';

const $ = (id) => document.getElementById(id);
const terms = new Map(); /* id -> TerminalView */
const boxes = new Map(); /* id -> {info, view, since, seen} */
const runs = new Map(); /* id -> RunView */
const activity = new ActivityView();
const host = new HostView();
let chosen = '';
let refused = 0;
let turn = 0;
let feed = null;

function note(event, where) {
  activity.log.add(violation(event, where));
  refused++;
  $('count').hidden = false;
  $('count').textContent = refused > 999 ? '999+' : String(refused);
}

function onTermEvent(event, view) {
  view.violations.append(violation(event));
  while (view.violations.childElementCount > 50)
    view.violations.firstElementChild.remove();
  view.violations.scrollTop = view.violations.scrollHeight;
  view.node.classList.add('has-events');
  note(event, `terminal ${short(view.info.title || view.info.cwd || view.id)}`);
  view.resize();
}

function onBoxEvent(box, event) {
  if (event.seq !== undefined) {
    if (event.seq <= box.since)
      return;
    box.since = event.seq;
  }
  box.view.log.add(anyEvent(event));
  if (event.type === 'violation')
    note(event, box.info.id);
}

/* Ids of sandboxes may have colons. */
function parts(key) {
  const at = key.indexOf(':');
  return at < 0 ? [key, ''] : [key.slice(0, at), key.slice(at + 1)];
}

function choose(key, focus) {
  chosen = key;
  const [kind, id] = parts(key);
  const view = kind === 'term' ? terms.get(id) : kind === 'box' ? boxes.get(id)?.view
    : kind === 'run' ? runs.get(id) : kind === 'host' ? host
    : kind === 'activity' ? activity : null;
  $('main').replaceChildren(view ? view.node : welcome());
  feed?.close();
  feed = null;
  if (kind === 'box' && boxes.has(id))
    follow(boxes.get(id));
  if (kind === 'run' && runs.has(id))
    followRun(runs.get(id));
  if (kind === 'activity') {
    refused = 0;
    $('count').hidden = true;
  }
  drawLists();
  if (kind === 'term' && view)
    view.show();
  else if (focus)
    $('main').focus();
  sessionStorage.setItem('chosen', key);
}

function welcome() {
  return el('section', {class: 'center'}, el('h1', {}, 'Nothing is open'),
    el('p', {class: 'muted'}, 'Start a terminal, or choose what runs on the left.'),
    el('button', {class: 'primary', onclick: openDialog}, 'New terminal'));
}

function follow(box) {
  if (box.info.state === 'destroyed')
    return;
  feed = new EventSource(`/v1/sandboxes/${encodeURIComponent(box.info.id)}/events?since=${box.since}`);
  const take = (message) => {
    try {
      onBoxEvent(box, JSON.parse(message.data));
    } catch {
      /* half a line */
    }
  };
  feed.onmessage = take;
  feed.addEventListener('notice', take);
}

/* The record from where it was left; the server ends it with the run, and a browser would ask again for ever. */
function followRun(view) {
  const source = new EventSource(`/v1/runs/${encodeURIComponent(view.id)}/events?since=${view.since}`);
  feed = source;
  source.onmessage = (message) => {
    try {
      const event = JSON.parse(message.data);
      view.add(event);
      if (event.record === 'end') {
        source.close();
        refreshRuns().then(drawLists).catch(() => {});
      }
    } catch {
      /* half a line */
    }
  };
}

function item(key, name, backend, state) {
  return el('li', {}, el('button', {class: 'item', 'data-key': key, 'aria-current': chosen === key ? 'page' : null,
    onclick: () => choose(key, true)},
    el('span', {class: 'name'}, name), el('span', {class: 'row'}, badge(backend),
      state && state !== 'running' ? el('span', {class: `state ${state}`}, state) : null)));
}

/* Drawn anew only when something is different, so that the focus stays where it is. */
function fill(list, items, empty) {
  const text = JSON.stringify(items);
  if (list.dataset.drawn === text + chosen)
    return;
  const focused = document.activeElement?.dataset?.key;
  list.dataset.drawn = text + chosen;
  list.replaceChildren(...items.map((args) => item(...args)));
  if (!items.length)
    list.append(el('li', {class: 'empty'}, empty));
  list.querySelector('[aria-current]')?.scrollIntoView({block: 'nearest', inline: 'nearest'});
  if (focused)
    list.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function drawLists() {
  fill($('terms'), [...terms.values()].map((t) => [`term:${t.id}`, short(t.info.title || t.info.cwd || t.id), t.info.backend, t.state]),
    'none yet');
  fill($('runs'), [...runs.values()].map((r) => [`run:${r.id}`, `${r.info.agent}: ${r.info.prompt.slice(0, 60)}`, r.info.backend,
    r.goesOn() && r.asked.size ? 'asks' : r.info.state]), 'none yet');
  fill($('boxes'), [...boxes.values()].map((b) => [`box:${b.info.id}`, b.info.id, b.info.backend, b.info.state]), 'none running');
  for (const button of document.querySelectorAll('[data-view]')) {
    if (chosen === button.dataset.view)
      button.setAttribute('aria-current', 'page');
    else
      button.removeAttribute('aria-current');
  }
}

function dropTerm(id) {
  const view = terms.get(id);
  terms.delete(id);
  view.dispose();
  if (chosen === `term:${id}`)
    choose(terms.size ? `term:${[...terms.keys()][0]}` : '');
}

function onTermChange(view, drop) {
  if (drop && terms.has(view.id))
    dropTerm(view.id);
  drawLists();
}

function addTerm(info) {
  if (!terms.has(info.id)) {
    const view = new TerminalView(info, onTermEvent, (drop) => onTermChange(view, drop));
    terms.set(info.id, view);
  }
  return terms.get(info.id);
}

function signedIn(yes) {
  $('frame').hidden = !yes;
  $('signed-out').hidden = yes;
  $('sign-out').hidden = !yes;
  if (!yes)
    $('host-note').textContent = '';
}

async function refreshTerms() {
  const {terminals} = await api('GET', '/v1/terminals');
  for (const info of terminals)
    if (info.state === 'running')
      addTerm(info);
}

async function refreshBoxes() {
  const answer = await api('GET', '/v1/sandboxes').catch((error) => {
    if (error instanceof ApiError && error.status !== 401)
      return {sandboxes: []};
    throw error;
  });
  const there = new Set();
  for (const raw of answer.sandboxes) {
    const info = {...raw, id: raw.sessionId};
    there.add(info.id);
    const known = boxes.get(info.id);
    if (known) {
      known.info = info;
      known.view.update(info);
    } else {
      boxes.set(info.id, {info, view: new SandboxView(info), since: 0});
    }
  }
  for (const [id, box] of boxes)
    if (!there.has(id) && box.info.state !== 'destroyed') {
      box.info = {...box.info, state: 'destroyed'};
      box.view.update(box.info);
    }
  /* a few of those that nobody looks at, in turn: a browser has few connections */
  const others = [...boxes.values()].filter((b) => there.has(b.info.id) && chosen !== `box:${b.info.id}`);
  for (let i = 0; i < Math.min(4, others.length); i++) {
    const box = others[turn++ % others.length];
    const path = `/v1/sandboxes/${encodeURIComponent(box.info.id)}/events?format=lines&follow=0&since=${box.since}`;
    for (const event of await lines(path).catch(() => []))
      onBoxEvent(box, event);
  }
}

async function refreshRuns() {
  const answer = await api('GET', '/v1/runs').catch((error) => {
    if (error instanceof ApiError && error.status !== 401)
      return {runs: []};
    throw error;
  });
  const newest = answer.runs.slice(0, 30);
  for (const info of newest) {
    if (runs.has(info.runId))
      runs.get(info.runId).update(info);
    else
      runs.set(info.runId, new RunView(info));
  }
  /* newest first, as the server lists them; what is looked at stays */
  const old = [...runs.values()].filter((r) => !newest.some((n) => n.runId === r.id) && chosen === `run:${r.id}`);
  const order = [...newest.map((n) => runs.get(n.runId)), ...old];
  runs.clear();
  for (const view of order)
    runs.set(view.id, view);
}

async function refreshProbe() {
  const probe = await api('GET', '/v1/probe');
  host.update(probe);
  const good = probe.enforceable || (probe.available && !probe.failing?.step);
  $('host-dot').className = `dot ${good ? 'good' : 'bad'}`;
  $('host-note').textContent = probe.enforceable ? 'native sandbox: proved on this host'
    : probe.available ? (probe.failing?.step ? 'native sandbox: refused on this host' : 'native sandbox: not tried')
      : 'no native sandbox on this host';
}

async function refresh() {
  try {
    await refreshTerms();
    await refreshBoxes();
    await refreshRuns();
    signedIn(true);
    drawLists();
  } catch (error) {
    if (error instanceof ApiError && (error.status === 401 || error.status === 403))
      signedIn(false);
    else
      $('host-note').textContent = 'the server does not answer';
  }
}

function openDialog() {
  $('new-error').hidden = true;
  $('new-dialog').showModal();
}

async function start(event) {
  event.preventDefault();
  const form = new FormData($('new-form'));
  const wish = {backend: form.get('backend'), rows: 24, cols: 80};
  if (form.get('cwd').trim())
    wish.cwd = form.get('cwd').trim();
  $('new-start').disabled = true;
  $('new-error').hidden = true;
  try {
    const info = await api('POST', '/v1/terminals', wish);
    $('new-dialog').close();
    addTerm(info);
    choose(`term:${info.id}`);
    if (info.backend !== wish.backend)
      toast(`the server took ${info.backend}`);
  } catch (error) {
    $('new-error').textContent = error.message;
    $('new-error').hidden = false;
  } finally {
    $('new-start').disabled = false;
  }
}

$('new-term').addEventListener('click', openDialog);
$('new-cancel').addEventListener('click', () => $('new-dialog').close());
$('new-form').addEventListener('submit', start);
$('sign-out').addEventListener('click', async () => {
  await api('POST', '/v1/console/logout').catch(() => {});
  location.reload();
});
for (const button of document.querySelectorAll('[data-view]'))
  button.addEventListener('click', () => choose(button.dataset.view, true));

await refresh();
if (!$('frame').hidden) {
  await refreshProbe().catch(() => {});
  const last = sessionStorage.getItem('chosen') || '';
  const [kind, id] = parts(last);
  choose(kind === 'term' && !terms.has(id) ? (terms.size ? `term:${[...terms.keys()][0]}` : '')
    : (kind === 'box' && !boxes.has(id)) || (kind === 'run' && !runs.has(id)) ? '' : last || (terms.size ? `term:${[...terms.keys()][0]}` : ''));
}
setInterval(refresh, 2000);
window.ccbox = {terms, boxes, runs}; /* for tests */
