/* A run of an agent: what it is, what it asks, what it says and does, what it changed. Everything that an agent wrote is text. */
import {api, badge, clock, el, toast} from './api.js';
import {Log, violation} from './views.js';

const head = (event, tag, text) => el('div', {class: 'event-head'}, el('time', {class: 'muted'}, clock(event.time)),
  el('span', {class: `tag ${tag}`}, tag), text ? el('span', {}, text) : null);

function inputOf(event) {
  const input = event.input || {};
  return input.command || input.file_path || input.path || input.url || event.content || '';
}

const rows = {
  start: (e) => el('article', {class: 'event'}, head(e, 'prompt'), el('pre', {}, e.prompt || '')),
  ready: (e) => el('article', {class: `event ${e.sandboxed ? '' : 'error'}`},
    head(e, 'ready', e.sandboxed ? `${e.backend} sandbox, environment ${e.environment}${e.network ? '' : ', no network'}` : e.content)),
  text: (e) => el('article', {class: 'event said'}, head(e, 'agent'), el('pre', {}, e.content || '')),
  thinking: (e) => el('article', {class: 'event'}, head(e, 'thinking'), el('pre', {class: 'muted'}, e.content || '')),
  toolCall: (e) => el('article', {class: 'event'}, head(e, 'call', e.tool || '?'), el('pre', {}, inputOf(e))),
  toolResult: (e) => el('article', {class: `event ${e.isError ? 'error' : ''}`}, head(e, e.isError ? 'failed' : 'result'),
    el('pre', {}, e.content || '')),
  sandboxViolation: (e) => violation({...e.violation, time: e.time}),
  approval: (e) => el('article', {class: 'event asked'}, head(e, 'asks', `${e.tool || '?'} (${e.rule || '?'})`), el('pre', {}, inputOf(e))),
  decision: (e) => (e.by === 'rule' && e.decision === 'allow' ? null
    : el('article', {class: 'event'}, head(e, 'decision', `${e.decision} by ${e.by}${e.rule ? `: ${e.rule}` : ''}`))),
  steer: (e) => el('article', {class: 'event'}, head(e, 'you'), el('pre', {}, e.content || '')),
  error: (e) => el('article', {class: 'event error'}, head(e, 'error'), el('pre', {}, e.content || '')),
  usage: () => null,
  debug: () => null,
  end: (e) => el('article', {class: 'event'}, head(e, 'end', `${e.reason}, exit code ${e.exitCode}, ${e.violations || 0} refused`),
    e.stat ? el('pre', {}, `${e.stat}${e.branch ? `\n${e.branch}` : ''}`) : null),
};

/* A line of a diff by its first byte; the colour comes from a class, the text stays text. */
function diffLine(line) {
  const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@@') ? 'hunk' : '';
  return el('span', {class: `diff-line ${kind}`}, `${line}\n`);
}

export class RunView {
  constructor(run) {
    this.id = run.runId;
    this.since = 0;
    this.asked = new Map(); /* number -> its event */
    this.log = new Log('Nothing has happened yet.');
    this.head = el('header', {class: 'bar'});
    this.questions = el('div', {class: 'questions', role: 'region', 'aria-label': 'Questions'});
    this.diff = el('pre', {class: 'diff', hidden: true, tabindex: '0', 'aria-label': 'Changes'});
    this.word = el('input', {type: 'text', placeholder: 'a further word to the agent', 'aria-label': 'A further word to the agent',
      autocomplete: 'off'});
    this.foot = el('form', {class: 'steer', onsubmit: (event) => this.steer(event)}, this.word,
      el('button', {type: 'submit', class: 'small'}, 'Send'));
    this.node = el('section', {class: 'view run', 'aria-label': 'Run'}, this.head, this.questions, this.diff, this.log.node, this.foot);
    this.update(run);
  }

  goesOn() {
    return this.info.state === 'starting' || this.info.state === 'running';
  }

  update(run) {
    const text = JSON.stringify(run);
    this.info = run;
    if (this.drawn === text)
      return;
    this.drawn = text;
    this.head.replaceChildren(badge(run.backend), el('span', {class: 'term-title'}, `${run.agent} · ${run.mode}`),
      el('span', {class: 'term-state'}, run.place), el('span', {class: 'grow'}),
      el('span', {class: `state ${run.state}`}, run.reason ? `${run.state}: ${run.reason}` : run.state),
      this.goesOn() ? el('button', {class: 'small', onclick: () => this.post('stop')}, 'Stop') : '',
      run.detail && run.detail.changed ? el('button', {class: 'small', onclick: () => this.showDiff()}, 'Changes') : '');
    this.foot.hidden = !this.goesOn();
    if (!this.goesOn())
      this.asked.clear();
    this.drawQuestions();
  }

  drawQuestions() {
    this.questions.replaceChildren(...[...this.asked.values()].map((event) => el('div', {class: 'question'},
      el('span', {}, `The agent wants: ${event.tool || '?'} `), el('code', {}, inputOf(event)),
      el('span', {class: 'row'},
        el('button', {class: 'small primary', onclick: () => this.answer(event.approval, 'allow')}, 'Allow'),
        el('button', {class: 'small', onclick: () => this.answer(event.approval, 'deny')}, 'Deny')))));
  }

  add(event) {
    if (event.seq <= this.since)
      return;
    this.since = event.seq;
    if (event.type === 'approval')
      this.asked.set(event.approval, event);
    if (event.type === 'decision' && event.approval)
      this.asked.delete(event.approval);
    if (event.type === 'approval' || event.type === 'decision')
      this.drawQuestions();
    const row = rows[event.record === 'event' ? event.type : event.record];
    const node = row ? row(event) : null;
    if (node)
      this.log.add(node);
  }

  async post(what, body) {
    try {
      await api('POST', `/v1/runs/${encodeURIComponent(this.id)}/${what}`, body);
      return true;
    } catch (error) {
      toast(error.message);
      return false;
    }
  }

  answer(number, decision) {
    return this.post(`approvals/${number}`, {decision});
  }

  async steer(event) {
    event.preventDefault();
    if (this.word.value.trim() && await this.post('steer', {text: this.word.value}))
      this.word.value = '';
  }

  async showDiff() {
    this.diff.hidden = !this.diff.hidden;
    if (this.diff.hidden || this.diff.childElementCount)
      return;
    try {
      const {diff} = await api('GET', `/v1/runs/${encodeURIComponent(this.id)}/diff`);
      this.diff.replaceChildren(...diff.split('\n').slice(0, 5000).map(diffLine));
    } catch (error) {
      this.diff.textContent = error.message;
    }
  }
}
