/* A terminal: xterm.js on the server's WebSocket (docs/terminals.md). Output is numbered: after a break the byte that is
 * missing is asked for. What was taken is acknowledged, so a flood waits in the program and not in this page. */
import {api, badge, el} from './api.js';

const WINDOW = 256 * 1024;
const ACK_EVERY = 32 * 1024;
const FINAL = {1000: 'ended', 1001: 'gone', 4000: 'closed', 4001: 'idle', 4003: 'lost', 4404: 'gone'};

function theme() {
  const css = getComputedStyle(document.documentElement);
  const get = (name) => css.getPropertyValue(name).trim();
  return {background: get('--term-bg'), foreground: get('--term-ink'), cursor: get('--accent'),
    selectionBackground: get('--term-selection'),
    black: '#2b303b', red: get('--red'), green: get('--green'), yellow: get('--yellow'), blue: get('--blue'),
    magenta: get('--magenta'), cyan: get('--cyan'), white: get('--term-white'), brightBlack: get('--muted'),
    brightRed: get('--red'), brightGreen: get('--green'), brightYellow: get('--yellow'), brightBlue: get('--blue'),
    brightMagenta: get('--magenta'), brightCyan: get('--cyan'), brightWhite: get('--term-ink')};
}

export class TerminalView {
  constructor(info, onEvent, onChange) {
    this.id = info.id;
    this.info = info;
    this.onEvent = onEvent;
    this.onChange = onChange;
    this.next = 0; /* the number of the next byte of output */
    this.acked = 0;
    this.typed = 0;
    this.tries = 0;
    this.early = [];
    this.state = 'connecting';
    this.build();
    this.connect();
  }

  build() {
    this.badgeAt = el('span', {class: 'badge-at'}, badge(this.info.backend, this.info.badge && this.info.badge.label));
    this.titleAt = el('span', {class: 'term-title'});
    this.stateAt = el('span', {class: 'term-state', role: 'status'});
    this.sizeAt = el('span', {class: 'muted size'});
    this.host = el('div', {class: 'term-host'});
    this.violations = el('div', {class: 'term-events', role: 'log', 'aria-label': 'Refused in this terminal'});
    this.node = el('section', {class: 'view term', 'data-backend': this.info.backend, 'aria-label': 'Terminal'},
      el('header', {class: 'bar'}, this.badgeAt, this.titleAt, el('span', {class: 'grow'}), this.stateAt, this.sizeAt,
        el('button', {class: 'small quiet', onclick: () => this.close()}, 'Close')),
      this.host, this.violations);
    this.term = new window.Terminal({cursorBlink: true, scrollback: 5000, fontSize: 13, lineHeight: 1.15,
      fontFamily: 'ui-monospace, "Cascadia Code", "SF Mono", Menlo, "DejaVu Sans Mono", monospace', theme: theme(),
      screenReaderMode: false, allowProposedApi: false});
    this.fit = new window.FitAddon.FitAddon();
    this.term.loadAddon(this.fit);
    this.term.onData((text) => this.type(new TextEncoder().encode(text)));
    this.term.onBinary((text) => this.type(Uint8Array.from(text, (c) => c.charCodeAt(0) & 255)));
    /* the way out for those who have no mouse: everything else belongs to the shell */
    this.term.attachCustomKeyEventHandler((event) => {
      if (event.type === 'keydown' && event.ctrlKey && event.shiftKey && event.code === 'Escape') {
        document.querySelector('.item[aria-current="page"]')?.focus();
        return false;
      }
      return true;
    });
    this.sizer = new ResizeObserver(() => this.resize());
    this.sizer.observe(this.host);
    this.scheme = matchMedia('(prefers-color-scheme: dark)');
    this.onScheme = () => { this.term.options.theme = theme(); };
    this.scheme.addEventListener('change', this.onScheme);
  }

  show() {
    if (!this.opened) {
      this.opened = true;
      this.term.open(this.host);
      this.term.textarea?.setAttribute('aria-label', 'Terminal input. Control Shift Escape leaves it.');
    }
    this.resize();
    this.term.focus();
  }

  resize() {
    if (!this.opened || !this.node.isConnected)
      return;
    this.fit.fit();
    this.sizeAt.textContent = `${this.term.cols}×${this.term.rows}`;
    this.sendSize();
  }

  sendSize() {
    const size = `${this.term.rows} ${this.term.cols}`;
    if (this.socket?.readyState !== WebSocket.OPEN || !this.greeted || this.sent === size || !this.opened)
      return;
    this.sent = size;
    this.socket.send(JSON.stringify({type: 'resize', rows: this.term.rows, cols: this.term.cols}));
  }

  connect() {
    const scheme = location.protocol === 'https:' ? 'wss' : 'ws';
    this.socket = new WebSocket(
      `${scheme}://${location.host}/v1/terminals/${this.id}/io?from=${this.next}&window=${WINDOW}`, 'ccbox.v1');
    this.socket.binaryType = 'arraybuffer';
    this.greeted = false;
    this.typed = 0;
    this.sent = '';
    this.socket.onmessage = (event) => {
      if (typeof event.data === 'string')
        this.onText(JSON.parse(event.data));
      else
        this.onBytes(event.data);
    };
    this.socket.onclose = (event) => this.onClose(event);
  }

  onBytes(data) {
    const seq = Number(new DataView(data).getBigUint64(0));
    const bytes = new Uint8Array(data, 8);
    const end = seq + bytes.length;
    this.next = end;
    this.term.write(bytes, () => {
      if (this.socket?.readyState === WebSocket.OPEN && this.greeted && end - this.acked >= ACK_EVERY) {
        this.acked = end;
        this.socket.send(JSON.stringify({type: 'ack', seq: end}));
      }
    });
  }

  onText(message) {
    if (message.type === 'hello') {
      this.greeted = true;
      this.tries = 0;
      if (message.seq > this.next && this.next > 0)
        this.term.write(`\r\n\x1b[2m[${message.seq - this.next} bytes are no longer kept]\x1b[0m\r\n`);
      this.next = this.acked = message.seq;
      this.setState('running');
      this.setBadge(message);
      this.sendSize();
      for (const bytes of this.early.splice(0))
        this.type(bytes);
    } else if (message.type === 'status') {
      this.setBadge(message);
    } else if (message.type === 'event') {
      this.onEvent(message.event, this);
    } else if (message.type === 'exit') {
      this.ending = message.reason;
    }
  }

  setBadge(message) {
    this.info = {...this.info, backend: message.backend, badge: message.badge, title: message.title};
    this.badgeAt.replaceChildren(badge(message.backend, message.badge && message.badge.label));
    this.node.dataset.backend = message.backend;
    this.titleAt.textContent = message.title || this.info.cwd || '';
    this.onChange();
  }

  onClose(event) {
    this.greeted = false;
    if (this.gone)
      return;
    if (FINAL[event.code]) {
      this.setState(FINAL[event.code], this.ending || event.reason);
      this.term.write(`\r\n\x1b[2m[${this.ending || event.reason}]\x1b[0m\r\n`);
      this.term.options.cursorBlink = false;
      return;
    }
    this.tries++;
    if (this.tries > 8) {
      this.setState('lost', 'the server does not answer');
      return;
    }
    this.setState('reconnecting', event.reason);
    setTimeout(() => { if (!this.gone) this.connect(); }, Math.min(200 * 2 ** this.tries, 5000));
  }

  setState(state, why = '') {
    this.state = state;
    this.stateAt.textContent = state === 'running' ? '' : why ? `${state}: ${why}` : state;
    this.node.dataset.state = state;
    this.onChange();
  }

  type(bytes) {
    if (!this.greeted || this.socket.readyState !== WebSocket.OPEN) {
      /* what is typed while it starts is for the shell; what is typed into a broken connection is lost, and said so */
      if (this.state === 'connecting' && this.early.length < 256)
        this.early.push(bytes);
      return;
    }
    for (let at = 0; at < bytes.length; at += 32768) {
      const part = bytes.subarray(at, at + 32768);
      const message = new Uint8Array(8 + part.length);
      new DataView(message.buffer).setBigUint64(0, BigInt(this.typed));
      message.set(part, 8);
      this.typed += part.length;
      this.socket.send(message);
    }
  }

  async close() {
    if (['running', 'connecting', 'reconnecting'].includes(this.state))
      await api('DELETE', `/v1/terminals/${this.id}`).catch(() => {});
    else
      this.onChange(true);
  }

  dispose() {
    this.gone = true;
    this.socket?.close();
    this.sizer.disconnect();
    this.scheme.removeEventListener('change', this.onScheme);
    this.term.dispose();
    this.node.remove();
  }
}
