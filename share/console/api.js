/* Calls to the server, and small helpers to build the page. Text from outside is always text, never markup. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export async function api(method, path, body) {
  const answer = await fetch(path, {
    method,
    credentials: 'same-origin',
    headers: body === undefined ? {} : {'content-type': 'application/json'},
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const text = await answer.text();
  let value = null;
  try {
    value = text ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  if (!answer.ok) {
    const error = value && value.error;
    throw new ApiError(answer.status, error ? error.code : '', error ? error.message : `the server said ${answer.status}`);
  }
  return value;
}

/* Lines of JSON. */
export async function lines(path) {
  const answer = await fetch(path, {credentials: 'same-origin'});
  if (!answer.ok)
    throw new ApiError(answer.status, '', `the server said ${answer.status}`);
  return (await answer.text()).split('\n').filter(Boolean).map((line) => JSON.parse(line));
}

export function el(name, props = {}, ...children) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(props)) {
    if (key === 'class')
      node.className = value;
    else if (key.startsWith('on'))
      node.addEventListener(key.slice(2), value);
    else if (value !== undefined && value !== null && value !== false)
      node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const labels = {microvm: 'Enclosed VM', native: 'Native sandbox', none: 'No isolation'};

/* What the server says runs; anything else is no badge of a backend. */
export function badge(backend, label) {
  const known = Object.hasOwn(labels, backend);
  return el('span', {class: 'badge', 'data-backend': known ? backend : 'unknown',
    title: known ? `backend ${backend}, as the server applied it` : 'the server has not said'},
    known ? label || labels[backend] : 'Unknown');
}

export function toast(text) {
  const node = document.getElementById('toast');
  node.textContent = text;
  node.classList.add('on');
  clearTimeout(toast.timer);
  toast.timer = setTimeout(() => node.classList.remove('on'), 2600);
}

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = el('textarea', {class: 'offscreen'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
  toast(`copied: ${text}`);
}

export function clock(ms) {
  return new Date(ms).toLocaleTimeString([], {hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false});
}

/* The end of a long path is what tells it from others. */
export function short(path, max = 28) {
  if (path.length <= max || !path.includes('/'))
    return path;
  const parts = path.split('/');
  let end = parts.pop();
  while (parts.length && end.length + parts[parts.length - 1].length + 3 <= max)
    end = `${parts.pop()}/${end}`;
  return `…/${end}`;
}
