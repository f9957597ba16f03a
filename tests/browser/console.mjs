// The console in a real browser: console.mjs PLAYWRIGHT CHROMIUM, with SOCK (the server's Unix socket), SANDBOX_DIR (what a sandbox
// is to write in) and SHOTS (where pictures go, or nothing) in the environment. Speaks TAP: one line a statement.
import {createRequire} from 'node:module';
import http from 'node:http';
import fs from 'node:fs';

const [playwright, executablePath] = process.argv.slice(2);
const {chromium} = createRequire(import.meta.url)(playwright);
const {SOCK, SHOTS, HOME} = process.env;
let count = 0;
let bad = 0;

function ok(good, text, why) {
  console.log(`${good ? 'ok' : 'not ok'} ${++count} - ${text}`);
  if (!good) {
    bad++;
    console.log(`# ${String(why ?? '').replaceAll('\n', '\n# ')}`);
  }
}

async function holds(text, run) {
  try {
    const value = await run();
    ok(value === true, text, JSON.stringify(value));
  } catch (error) {
    ok(false, text, error.message);
  }
}

function api(method, path, body) {
  return new Promise((resolve, reject) => {
    const call = http.request({socketPath: SOCK, method, path,
      headers: body ? {'content-type': 'application/json', 'content-length': Buffer.byteLength(JSON.stringify(body))} : {}}, (answer) => {
      let text = '';
      answer.on('data', (part) => { text += part; });
      answer.on('end', () => resolve({status: answer.statusCode, body: answer.headers['content-type'] === 'application/json' ? JSON.parse(text) : text}));
    });
    call.on('error', reject);
    call.end(body ? JSON.stringify(body) : undefined);
  });
}

const browser = await chromium.launch({executablePath, headless: true, args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage']});
const context = await browser.newContext({viewport: {width: 1180, height: 720}, colorScheme: 'light'});
const page = await context.newPage();
const complaints = [];
page.on('console', (message) => { if (message.type() === 'error') complaints.push(message.text()); });
page.on('pageerror', (error) => complaints.push(error.message));

async function shot(name) {
  if (!SHOTS)
    return;
  await page.locator('.toast.on').waitFor({state: 'detached', timeout: 5000}).catch(() => {});
  await page.waitForTimeout(300);
  await page.screenshot({path: `${SHOTS}/${name}.png`});
}
const login = async () => (await api('POST', '/v1/console/login')).body.url;
// What the chosen terminal shows, from xterm's own buffer.
const screen = (where = page) => where.evaluate(() => [...window.ccbox.terms.values()].filter((t) => t.node.isConnected).map((t) => {
  const buffer = t.term.buffer.active;
  return Array.from({length: buffer.length}, (_, i) => buffer.getLine(i).translateToString(true)).join('\n');
}).join('\n'));
async function shows(text, where = page) {
  for (let i = 0; i < 200; i++) {
    if ((await screen(where)).includes(text))
      return true;
    await where.waitForTimeout(100);
  }
  throw new Error(`never shown: ${text}\n${await screen(where)}`);
}
async function start(backend, where = page) {
  await where.getByRole('button', {name: 'New', exact: true}).click();
  await where.locator(`input[name=backend][value=${backend}]`).check();
  await where.getByRole('button', {name: 'Start'}).click();
}

await holds('without a login the page says how to get one, and shows nothing', async () => {
  const origin = new URL(await login()).origin;
  await page.goto(origin);
  await page.getByText('ccbox console', {exact: true}).last().waitFor();
  await shot('signed-out');
  return await page.locator('#frame').isHidden();
});

const url = await login();
await holds('the one-time address signs in', async () => {
  await page.goto(url);
  await page.locator('#frame').waitFor({state: 'visible'});
  return page.url().endsWith('/') && !page.url().includes('key');
});
await holds('and works once', async () => {
  const other = await (await browser.newContext()).newPage();
  const answer = await other.goto(url);
  return answer.status() === 403;
});
await holds('its cookie is out of reach of scripts', async () => {
  const [cookie] = await context.cookies();
  return cookie.httpOnly && cookie.sameSite === 'Strict' && await page.evaluate(() => document.cookie) === '';
});
await holds('a terminal starts, and its badge says no isolation', async () => {
  await start('none');
  await page.locator('.view.term .badge[data-backend=none]').waitFor();
  return (await page.locator('.view.term .badge').textContent()) === 'No isolation';
});
await holds('typing and output', async () => {
  await page.keyboard.type("PS1='$ '; clear; echo web-$((40+2))\n");
  return await shows('web-42');
});
await holds('the program sees the size of the window, and of the next', async () => {
  const size = () => page.evaluate(() => { const t = [...window.ccbox.terms.values()][0].term; return `${t.rows} ${t.cols}`; });
  const first = await size();
  await page.keyboard.type('stty size\n');
  await shows(first);
  await page.setViewportSize({width: 900, height: 560});
  await page.waitForTimeout(400);
  const second = await size();
  await page.keyboard.type('stty size\n');
  return first !== second && await shows(second);
});
await holds('colours come without an inline style', async () => {
  await page.setViewportSize({width: 1180, height: 720});
  await page.keyboard.type("clear; printf '\\033[1;32mgreen\\033[0m \\033[38;2;200;80;20mtrue\\033[0m \\033[7mreverse\\033[0m\\n'; ls --color=always -d /usr /bin\n");
  await shows('reverse');
  // drawn a moment after it is in the buffer
  let colours = [];
  for (let i = 0; i < 50 && new Set(colours).size <= 2; i++) {
    await page.waitForTimeout(100);
    colours = await page.evaluate(() => [...document.querySelectorAll('.xterm-rows span')].map((s) => getComputedStyle(s).color));
  }
  return new Set(colours).size > 2 || colours;
});
await holds('after a break the same bytes are there, and nothing twice', async () => {
  await page.keyboard.type('clear; for i in 1 2 3; do echo before-$i; done; sleep 1; echo late-$((1+1))\n');
  await shows('before-3');
  await page.evaluate(() => [...window.ccbox.terms.values()].forEach((t) => t.socket.close()));
  await shows('late-2');
  const text = await screen();
  return text.split('before-2').length === 2 && text.split('late-2').length === 2;
});
await holds('a page that is loaded anew replays what was said', async () => {
  await page.reload();
  await page.locator('.view.term .badge[data-backend=none]').waitFor();
  return await shows('late-2');
});
await holds('native: badge, profile, and its refusal as an event', async () => {
  fs.mkdirSync(`${HOME}/.ssh`, {recursive: true});
  fs.writeFileSync(`${HOME}/.ssh/id_ed25519`, 'a key\n');
  await start('native');
  await page.locator('.view.term .badge[data-backend=native]').waitFor();
  await page.keyboard.type("PS1='$ '; clear; cat ~/.ssh/id_ed25519\n");
  await shows('Permission denied');
  const event = page.locator('.term-events .violation').first();
  await event.waitFor();
  return (await event.textContent()).includes('.ssh/id_ed25519');
});
await shot('terminal');
await holds('microvm is an error, and no badge', async () => {
  const before = await page.locator('#terms .item').count();
  await start('microvm');
  const alert = page.getByRole('alert');
  await alert.waitFor();
  await shot('refused');
  const good = (await alert.textContent()).includes('microvm') && await page.locator('#terms .item').count() === before &&
    await page.locator('#terms .badge[data-backend=microvm], main .badge[data-backend=microvm]').count() === 0;
  await page.getByRole('button', {name: 'Cancel'}).click();
  return good;
});
await holds('native that the server refuses is an error, and no badge', async () => {
  await page.route('**/v1/terminals', (route) => route.request().method() === 'POST'
    ? route.fulfill({status: 501, contentType: 'application/json',
      body: JSON.stringify({error: {code: 'unsupported', message: 'this host cannot hold the native sandbox: no Landlock; nothing was started'}})})
    : route.continue());
  const before = await page.locator('.badge[data-backend=native]').count();
  await start('native');
  await page.getByRole('alert').waitFor();
  const good = (await page.getByRole('alert').textContent()).includes('nothing was started') &&
    await page.locator('.badge[data-backend=native]').count() === before;
  await page.getByRole('button', {name: 'Cancel'}).click();
  await page.unroute('**/v1/terminals');
  return good;
});
if (process.env.SANDBOX_DIR) {
  await holds('a violation appears when .env is attempted in a sandbox', async () => {
    const made = await api('POST', '/v1/sandboxes',
      {sessionId: 'agent-shop::review::chat', bindMounts: [{hostPath: process.env.SANDBOX_DIR}]});
    if (made.status >= 300)
      throw new Error(JSON.stringify(made));
    const id = made.body.sessionId;
    await page.locator('#boxes .item').first().click();
    await page.locator('.view .bar .badge[data-backend=native]').waitFor();
    await api('POST', `/v1/sandboxes/${encodeURIComponent(id)}/exec`, {argv: ['sh', '-c', 'echo SECRET=1 >.env']}).catch(() => {});
    const event = page.locator('main .violation').first();
    await event.waitFor();
    const text = await event.textContent();
    await shot('sandbox');
    return text.includes('.env') && text.includes('name:**/.env') && text.includes("--allow-name '**/.env'");
  });
  await holds('its grant can be copied', async () => {
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('main .violation').first().getByRole('button', {name: /Copy/}).click();
    return (await page.evaluate(() => navigator.clipboard.readText())) === "--allow-name '**/.env'";
  });
}
await holds('a run: its badge, what it says and asks; the answer is given on the page; markup of the agent is text', async () => {
  const made = await api('POST', '/v1/runs', {agent: 'claude', prompt: 'ask', repo: process.env.REPO});
  if (made.status !== 201)
    throw new Error(JSON.stringify(made));
  await page.locator('#runs .item').first().click();
  await page.locator('.view.run .bar .badge[data-backend=native]').waitFor();
  const question = page.locator('.question');
  await question.waitFor();
  await shot('run-asks');
  await question.getByRole('button', {name: 'Allow'}).click();
  await page.locator('.view.run .tag', {hasText: 'end'}).waitFor();
  const text = await page.locator('.view.run .events').textContent();
  await question.waitFor({state: 'detached'});
  return text.includes('<img src=x onerror=alert(1)>') && text.includes('allow by person') && await page.locator('.view.run img').count() === 0 || text;
});
await holds('the changes of a run can be read', async () => {
  await page.locator('.view.run').getByRole('button', {name: 'Changes'}).click();
  await page.locator('.diff-line.added').first().waitFor();
  await shot('run');
  const text = await page.locator('.diff').textContent();
  return (text.includes('+made by the agent') && text.includes('<b>bold</b>') && await page.locator('.diff b').count() === 0) || text;
});
await holds('a run is told something more, and stopped', async () => {
  await api('POST', '/v1/runs', {agent: 'claude', prompt: 'tell', directory: process.env.SANDBOX_DIR});
  await page.locator('#runs .item').filter({hasText: 'claude: tell'}).click();
  await page.locator('.view.run .tag', {hasText: 'agent'}).waitFor();
  await page.getByLabel('A further word to the agent').fill('more of it');
  await page.getByRole('button', {name: 'Send'}).click();
  await page.locator('.view.run .events').getByText('heard more of it').waitFor();
  await page.locator('.view.run .tag', {hasText: 'end'}).waitFor();
  await api('POST', '/v1/runs', {agent: 'claude', prompt: 'hang', directory: process.env.SANDBOX_DIR});
  await page.locator('#runs .item').filter({hasText: 'claude: hang'}).click();
  await page.locator('.view.run .events').getByText('hanging').waitFor();
  await page.getByRole('button', {name: 'Stop'}).click();
  await page.locator('.view.run .events').getByText('stopped, exit code').waitFor();
  return true;
});
await holds('the violations of all are in one place', async () => {
  await page.getByRole('button', {name: /Violations/}).click();
  await page.locator('main .violation').first().waitFor();
  await shot('violations');
  return true;
});
await holds('the probe report', async () => {
  await page.getByRole('button', {name: 'This host'}).click();
  await page.locator('.report').waitFor();
  await shot('host');
  return (await page.locator('.report').textContent()).includes('landlock');
});
await holds('everything can be reached by the keyboard', async () => {
  const seen = new Set();
  await page.locator('body').press('Home');
  for (let i = 0; i < 14; i++) {
    await page.keyboard.press('Tab');
    seen.add(await page.evaluate(() => document.activeElement.textContent.trim()));
  }
  return [...seen].some((t) => t.includes('New')) && [...seen].some((t) => t.includes('This host')) && [...seen].some((t) => t.includes('Violations'));
});
await holds('dark, and on a phone: nothing is wider than the window', async () => {
  await page.emulateMedia({colorScheme: 'dark'});
  await page.locator('#terms .item').last().click();
  await shows('Permission denied');
  await page.setViewportSize({width: 1180, height: 720});
  await page.waitForTimeout(300);
  await shot('dark');
  await page.setViewportSize({width: 390, height: 780});
  await page.waitForTimeout(400);
  await shot('phone');
  await page.emulateMedia({colorScheme: 'light'});
  await page.getByRole('button', {name: 'This host'}).click();
  await page.waitForTimeout(200);
  await shot('phone-host');
  return await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
});
await holds('a shell that exits says so', async () => {
  await page.setViewportSize({width: 1180, height: 720});
  await page.locator('#terms .item').last().click();
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type('exit 5\n');
  await page.getByText('the shell exited with 5').first().waitFor();
  return true;
});
await holds('signing out ends the cookie', async () => {
  await page.getByRole('button', {name: 'Sign out'}).click();
  await page.locator('#signed-out').waitFor({state: 'visible'});
  return true;
});
const real = complaints.filter((text) => !/40[0-9]|501|favicon|WebSocket/.test(text));
ok(real.length === 0, 'the browser has nothing to complain of, the policy of the page included', real.join('\n'));
await browser.close();
console.log(`1..${count}`);
process.exit(bad ? 1 : 0);
