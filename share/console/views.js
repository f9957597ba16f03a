/* What is shown besides terminals: events, one sandbox, the host. */
import {badge, clock, copy, el} from './api.js';

const ACTIONS = {
  'file-read*': 'read', 'file-write-create': 'create', 'file-write-data': 'write', 'file-write-unlink': 'remove',
  'file-write-mode': 'change', 'process-exec': 'execute', 'network-outbound': 'connect', 'network-bind': 'listen',
};

/* One refusal: what, on what, by which rule, why, and the smallest flag that would allow it. */
export function violation(event, where) {
  const v = event.violation || event;
  const grant = v.grant;
  return el('article', {class: 'event violation', 'data-rule': v.rule || ''},
    el('div', {class: 'event-head'},
      el('time', {class: 'muted'}, clock(event.time)),
      el('span', {class: 'tag refused'}, 'refused'),
      el('strong', {}, ACTIONS[v.action] || v.action || '?'),
      v.count > 1 ? el('span', {class: 'muted'}, `× ${v.count}`) : null,
      where ? el('span', {class: 'muted where'}, where) : null),
    el('code', {class: 'object', title: v.spelled && v.spelled !== v.target ? `as written: ${v.spelled}` : null}, v.target || '?'),
    el('div', {class: 'event-foot'},
      v.rule ? el('span', {class: 'rule'}, v.rule) : null,
      v.reason ? el('span', {class: 'muted'}, v.reason) : null,
      v.process ? el('span', {class: 'muted'}, `by ${v.process}`) : null,
      grant ? el('span', {class: 'grant'}, el('code', {}, grant),
        el('button', {class: 'small', onclick: () => copy(grant), 'aria-label': `Copy ${grant}`}, 'Copy')) : null));
}

function decode(event) {
  if (event.encoding !== 'base64')
    return event.content || '';
  return new TextDecoder().decode(Uint8Array.from(atob(event.content), (c) => c.charCodeAt(0)));
}

export function anyEvent(event, where) {
  if (event.type === 'violation')
    return violation(event, where);
  const output = event.type === 'stdout' || event.type === 'stderr';
  const text = event.type === 'exit' ? `exit code ${event.exitCode}` : decode(event);
  return el('article', {class: `event ${event.type}`},
    el('div', {class: 'event-head'}, el('time', {class: 'muted'}, clock(event.time)),
      el('span', {class: `tag ${event.type}`}, event.type),
      output ? null : el('span', {}, text)),
    output ? el('pre', {}, text) : null);
}

export class Log {
  constructor(empty) {
    this.empty = el('p', {class: 'empty'}, empty);
    this.node = el('div', {class: 'events', role: 'log', 'aria-live': 'polite'}, this.empty);
  }

  add(node) {
    const atEnd = this.node.scrollHeight - this.node.scrollTop - this.node.clientHeight < 60;
    this.empty.remove();
    this.node.append(node);
    while (this.node.childElementCount > 400)
      this.node.firstElementChild.remove();
    if (atEnd)
      this.node.scrollTop = this.node.scrollHeight;
  }
}

export class SandboxView {
  constructor(box) {
    this.id = box.id;
    this.log = new Log('Nothing has happened yet.');
    this.head = el('header', {class: 'bar'});
    this.facts = el('dl', {class: 'facts'});
    this.node = el('section', {class: 'view', 'aria-label': 'Sandbox'}, this.head, this.facts, this.log.node);
    this.update(box);
  }

  update(box) {
    this.head.replaceChildren(badge(box.backend), el('span', {class: 'term-title'}, box.id), el('span', {class: 'grow'}),
      el('span', {class: `state ${box.state}`}, box.state));
    const rows = Object.entries(box.details || {}).filter(([, value]) => typeof value !== 'object' || value === null);
    if (box.error)
      rows.unshift(['error', typeof box.error === 'string' ? box.error : box.error.message || JSON.stringify(box.error)]);
    this.facts.replaceChildren(...rows.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, String(value))]));
    this.facts.hidden = rows.length === 0;
  }
}

export class ActivityView {
  constructor() {
    this.log = new Log('Nothing has been refused since this page was opened.');
    this.node = el('section', {class: 'view', 'aria-label': 'Violations'},
      el('header', {class: 'bar'}, el('h1', {}, 'Violations'),
        el('span', {class: 'muted'}, 'what a sandbox refused, in every session and terminal on this page')),
      this.log.node);
  }
}

export class HostView {
  constructor() {
    this.node = el('section', {class: 'view scroll', 'aria-label': 'This host'});
  }

  update(probe) {
    const failing = probe.failing && probe.failing.step ? probe.failing : null;
    const verdict = probe.enforceable ? ['good', 'Every rule of the native sandbox was proved by starting one.']
      : failing ? ['bad', `The native sandbox is refused here: ${failing.what || failing.step}`]
        : probe.available ? ['unsure', 'The native sandbox is available, and was not tried.']
          : ['bad', probe.installHint || probe.note || 'No native sandbox on this host.'];
    this.node.replaceChildren(
      el('header', {class: 'bar'}, el('h1', {}, 'This host'), el('span', {class: 'muted'}, probe.note || '')),
      el('p', {class: `verdict ${verdict[0]}`}, verdict[1]),
      failing && failing.remedy ? el('p', {class: 'remedy'}, failing.remedy) : '',
      el('table', {class: 'report'},
        el('thead', {}, el('tr', {}, ...['', 'capability', 'found', 'what would help'].map((h) => el('th', {scope: 'col'}, h)))),
        el('tbody', {}, ...(probe.capabilities || []).map((c) => el('tr', {class: c.ok ? 'ok' : 'missing'},
          el('td', {'data-label': ''}, el('span', {class: 'mark', title: c.ok ? 'held' : 'not held'}, c.ok ? '✓' : '✗')),
          el('th', {scope: 'row'}, c.name), el('td', {}, c.found || ''), el('td', {class: 'muted'}, c.remedy || ''))))));
  }
}
