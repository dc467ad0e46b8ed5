// The kit all four applications are built from: one state, drawn anew after every event.
// `state` is what tasks change and evaluators judge; `ui` is what is on the screen.
'use strict';

const apps = {};
let state = {};
let ui = {};
let screenName = '';

// ---- a changed interface: one screen in five is renamed or rearranged, by the seed in `ui.changed` ----

const SYNONYMS = {
  'Save': 'Keep changes', 'OK': 'Done', 'Apply': 'Use these settings', 'Cancel': 'Dismiss', 'More': 'Other actions',
  'Add': 'Create', 'Remove': 'Take out', 'Send': 'Dispatch', 'Move': 'Put there', 'Rename': 'Change name',
  'System': 'Device', 'Connections': 'Network', 'Sound & alerts': 'Notifications', 'Privacy': 'Security', 'Accounts': 'People',
  'Ease of access': 'Accessibility', 'Backup': 'Safe copies', 'Personalization': 'Look and feel',
  'Display': 'Screen', 'Language & region': 'Locale', 'Wireless': 'Wi-Fi', 'Proxy': 'Relay', 'Devices': 'Hardware', 'Per app': 'Individual apps',
  'Behaviour': 'Handling', 'Style': 'Look', 'Vision': 'Seeing', 'Hearing': 'Listening', 'Typing': 'Keyboard', 'Permissions': 'Access rights',
  'Options': 'Setup', 'Preferences…': 'Mail settings…', 'Junk settings…': 'Spam settings…', 'Rules…': 'Filters…', 'Automatic replies…': 'Out of office…',
  'Composing': 'Writing', 'Reading': 'Viewing', 'Blocked senders': 'Refused senders', 'Move to…': 'Put into…', 'Block sender…': 'Refuse sender…',
  'Categorize…': 'Classify…', 'New message': 'Compose', 'Subject': 'Topic', 'Message': 'Body', 'To': 'Recipient', 'Delivery options': 'Sending options',
  'Data': 'Records', 'Insert': 'Add-ins', 'Format': 'Layout', 'Tools': 'Utilities', 'View': 'Show', 'Columns': 'Fields', 'Export': 'Save a copy',
  'Sort…': 'Order…', 'Filter…': 'Narrow…', 'Hide…': 'Conceal…', 'Unhide…': 'Reveal…', 'Chart…': 'Diagram…', 'Protection': 'Locking', 'Order': 'Direction',
  'Rename…': 'Change name…', 'Share…': 'Give access…', 'Properties…': 'Details…', 'Compress…': 'Zip…', 'New': 'Create', 'Folder…': 'New directory…',
  'Details': 'Extra', 'Security': 'Protection', 'Restore…': 'Bring back…', 'Labels': 'Captions', 'Title': 'Heading', 'Insert chart': 'Place chart',
};

const hash = (text) => {
  let value = 2166136261;
  for (const char of text) value = Math.imul(value ^ char.charCodeAt(0), 16777619) >>> 0;
  return value;
};
const change = () => {
  if (ui.changed === null) return '';
  const value = hash(`${ui.changed}/${screenName}/${ui.changed}`);
  return (value >>> 8) % 5 ? '' : (value >>> 20) % 2 ? 'renamed' : 'moved';
};
const label = (text) => (change() === 'renamed' && SYNONYMS[text]) || text;
const on = (name, build) => {
  const outer = screenName;
  screenName = name;
  const built = build();
  screenName = outer;
  return built;
};

// ---- building blocks ----

const h = (tag, attributes = {}, ...children) => {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) node[key] = value;
    else if (value !== undefined && value !== false) node.setAttribute(key, value === true ? '' : value);
  }
  node.append(...children.flat(9).filter((child) => child || child === 0));
  return node;
};
const then = (act) => () => { ui.menu = []; ui.status = ''; act(); render(); };
const button = (text, act, off = false) => h('button', { disabled: off, onclick: then(act) }, label(text));
const notify = (text) => { ui.status = text; };

// Items are [text, action, disabled] or [text, items]. A moved screen shows them without the menu around them.
const menuItem = (path) => ([text, act, off]) => Array.isArray(act)
  ? dropdown(text, act, [...path, text])
  : h('button', { role: 'menuitem', disabled: !!off, onclick: then(act) }, label(text));
const dropdown = (title, items, path = [title]) => on(`${screenName}/${title}`, () => {
  if (change() === 'moved') return items.map(menuItem(path.slice(0, -1)));
  const open = path.every((part, depth) => ui.menu[depth] === part);
  const toggle = () => { ui.menu = open ? path.slice(0, -1) : path; render(); };
  return h('span', { class: 'menu' },
    h('button', { role: 'menuitem', 'aria-haspopup': 'true', 'aria-expanded': String(open), onclick: toggle }, label(title)),
    open && h('div', { role: 'menu', 'aria-label': title }, items.map(menuItem(path))));
});

const row = (text, chosen, act, role = 'option') =>
  h('div', { role, class: 'row', 'aria-selected': String(chosen), onclick: then(act) }, role === 'option' ? text : label(text));
// Pages behind tabs; a moved screen has each page behind its neighbour's tab.
const tabs = (view, pages) => {
  const names = Object.keys(pages);
  const shown = change() === 'moved' ? names[(names.indexOf(view.tab) + 1) % names.length] : view.tab;
  if (!names.includes(view.tab)) { view.tab = names[0]; return tabs(view, pages); }
  return [
    h('div', { role: 'tablist' }, names.map((name) => row(name, name === view.tab, () => { view.tab = name; }, 'tab'))),
    h('div', { role: 'tabpanel', 'aria-label': view.tab }, pages[shown]()),
  ];
};

const field = (form, key, text, kind = 'text') => h('label', { class: 'field' }, h('span', {}, label(text)),
  h(kind === 'area' ? 'textarea' : 'input', {
    type: kind === 'area' ? undefined : kind, 'aria-label': label(text),
    value: kind === 'area' ? undefined : form[key] ?? '', oninput: (event) => { form[key] = event.target.value; },
  }, kind === 'area' ? form[key] ?? '' : null));
const check = (form, key, text) => h('label', { class: 'check' },
  h('input', { type: 'checkbox', checked: !!form[key], onchange: (event) => { form[key] = event.target.checked; } }), label(text));
const choose = (form, key, text, options) => h('label', { class: 'field' }, h('span', {}, label(text)),
  h('select', { 'aria-label': label(text), onchange: (event) => { form[key] = event.target.value; } },
    options.map((option) => h('option', { selected: option === form[key] }, option))));
const radios = (form, key, text, options) => h('fieldset', { 'aria-label': text }, h('legend', {}, label(text)),
  options.map((option) => h('label', { class: 'check' },
    h('input', { type: 'radio', name: key, checked: option === form[key], onchange: () => { form[key] = option; } }), option)));
const pick = (form, key, items) => h('div', { role: 'listbox', class: 'list' },
  items.map((item) => row(item, form[key] === item, () => { form[key] = item; })));

// spec: { form, body(form) or tabs {name: form => nodes}, ok, commit(form), extra [[text, act(form)]] }
const dialog = (title, spec) => { ui.stack.push({ title, ...spec, form: { ...spec.form } }); };
const confirm = (title, question, ok, act) => dialog(title, { body: () => h('p', {}, question), ok, commit: act });
const dialogBox = (box) => on(`${ui.front}/${box.screen || box.title}`, () => {
  const pages = box.tabs && Object.fromEntries(Object.entries(box.tabs).map(([name, page]) => [name, () => page(box.form)]));
  const finish = () => { ui.stack.pop(); box.commit(box.form); };
  return h('div', { class: 'veil' }, h('div', { role: 'dialog', 'aria-modal': 'true', 'aria-label': box.title },
    h('h2', {}, box.title), h('div', { class: 'body' }, pages ? tabs(box, pages) : box.body(box.form)),
    h('footer', {}, (box.extra || []).map(([text, act]) => button(text, () => act(box.form))),
      h('span', { class: 'gap' }), button('Cancel', () => ui.stack.pop()), box.ok && button(box.ok, finish))));
});

// ---- drawing, and the door for the benchmark ----

const app = (name, view) => { apps[name] = view; };
function render() {
  const view = ui.views[ui.front];
  const body = on(ui.front, () => apps[ui.front](view, state[ui.front.toLowerCase()]));
  const top = ui.stack[ui.stack.length - 1];
  document.title = [top && top.title, ui.front].filter(Boolean).join(' – ');
  document.getElementById('window').replaceChildren(
    h('header', {}, ui.front), ...body, h('div', { role: 'status' }, ui.status || 'Ready'), ...ui.stack.map(dialogBox));
  document.getElementById('taskbar').replaceChildren(
    ...Object.keys(apps).map((name) => h('button', { 'aria-current': String(name === ui.front), onclick: () => desktop.bring(name) }, name)));
}
const desktop = {
  reset(start, front, changed) { // `start` is JSON text, because the order of keys counts
    state = JSON.parse(start);
    ui = { front, changed, views: Object.fromEntries(Object.keys(apps).map((name) => [name, {}])), menu: [], stack: [], status: '' };
    render();
  },
  bring(name) {
    if (!apps[name]) return false;
    Object.assign(ui, { front: name, menu: [], stack: [], status: '' });
    render();
    return true;
  },
  report: () => ({ state, front: ui.front, applications: Object.keys(apps) }),
};
