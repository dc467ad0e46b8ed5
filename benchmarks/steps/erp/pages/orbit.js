// An enterprise application of the unfriendly kind: transactions behind codes, in the words of the trade; fields that
// are named only when a form is refused; house rules in circulars; documents that cannot be taken back.
'use strict';

// code: { area, title, fields [[key, label, options?]], asked [[key, label, rule(form) → complaint or '']],
//         needs(data, form) → complaint or '', buttons [label], after(data, form) }
// A document is filed under its code and first field, with its other values and the button that made it.
const one = (pattern, complaint) => (value) => (pattern.test(value || '') ? '' : complaint);
const TRANSACTIONS = {
  ME51: { area: 'MM', title: 'Requisition, external', fields: [['what', 'Short text'], ['count', 'Qty']],
    asked: [['account', 'Account assignment', one(/^CC-\d{4}$/, 'Account assignment must be a valid object, see circular 14')]], buttons: ['Hold', 'Transmit'] },
  MIGO: { area: 'MM', title: 'Movement, other', fields: [['what', 'Short text'], ['count', 'Qty'], ['kind', 'Movement', ['', '101', '122', '311', '551']]],
    asked: [['place', 'SLoc', one(/^00\d\d$/, 'SLoc is not defined, see circular 21')]], buttons: ['Simulate', 'Post'], dry: ['Simulate'] },
  MR21: { area: 'MM', title: 'Revaluation', fields: [['what', 'Short text'], ['price', 'New value']], asked: [['type', 'Valuation type', one(/^V[12]$/, 'Valuation type must be V1 (owned) or V2 (consigned), see circular 21')]], buttons: ['Post'] },
  XK02: { area: 'MM', title: 'Creditor, centrally', fields: [['what', 'Creditor'], ['view', 'View', ['', 'Address', 'Payment', 'Purchasing']], ['value', 'Entry']],
    asked: [['reason', 'Change no.', one(/^CN-\d$/, 'Change no. is required: CN-1 address, CN-2 payment, CN-3 purchasing')]], buttons: ['Save'] },
  XK05: { area: 'MM', title: 'Creditor, flags', fields: [['what', 'Creditor'], ['flag', 'Flag', ['', 'None', 'Posting', 'Purchasing', 'All']]],
    asked: [['reason', 'Quality function', one(/^0[129]$/, 'Quality function 01 (release), 02 (no orders) or 09 (closed)')]], buttons: ['Save'] },
  ME9F: { area: 'MM', title: 'Message output', fields: [['what', 'Creditor'], ['medium', 'Medium', ['', '1', '2', '5']]], asked: [['partner', 'Partner role', one(/^(LF|SP)$/, 'Partner role LF (supplier) or SP (sold-to), see circular 21')]], buttons: ['Output'] },
  FB60: { area: 'FI', title: 'Item, incoming', fields: [['what', 'Creditor'], ['amount', 'Amount']],
    asked: [['tax', 'Tax code', one(/^V[019]$/, 'Tax code: V0 exempt, V1 full, V9 import, see circular 7')], ['approver', 'Release 2', one(/^[A-Z]+$/, 'Release 2 must be a user in capitals, see circular 7')]], buttons: ['Park', 'Post'] },
  FB75: { area: 'FI', title: 'Item, outgoing, credit', fields: [['what', 'Debtor'], ['amount', 'Amount']], asked: [['ref', 'Assignment', one(/^GS$/, 'Assignment GS is required for credits, see circular 7')]], buttons: ['Park', 'Post'] },
  F53: { area: 'FI', title: 'Clearing, outgoing', fields: [['what', 'Creditor'], ['amount', 'Amount']], needs: (data) => (data.period === 'open' ? '' : 'Period 012 is not open for account type K'), buttons: ['Simulate', 'Post'], dry: ['Simulate'] },
  OB52: { area: 'FI', title: 'Intervals', fields: [['what', 'Variant'], ['kind', 'Account type', ['', 'A', 'D', 'K', 'S']]], asked: [['to', 'To period', one(/^0\d\d$/, 'To period has three digits')]], buttons: ['Save'],
    after: (data, form) => { if (form.kind === 'K' && form.to === '012') data.period = 'open'; } },
  FD05: { area: 'FI', title: 'Debtor, flags', fields: [['what', 'Debtor'], ['flag', 'Dunning', ['', 'A', 'M', 'Z']]], asked: [['area', 'Dunning area', one(/^0[12]$/, 'Dunning area 01 home, 02 abroad')]], buttons: ['Save'] },
  FD32: { area: 'FI', title: 'Exposure', fields: [['what', 'Debtor'], ['amount', 'Limit']], asked: [['segment', 'Control area', one(/^1000$/, 'Control area is 1000, see circular 7')]], buttons: ['Save'] },
  PA30: { area: 'HR', title: 'Master data, infotypes', fields: [['what', 'Pers. no.'], ['type', 'Infotype', ['', '0006', '0009', '0105', '2001', '2006']], ['value', 'Entry']],
    needs: (data, form) => (/^\d{4}$/.test(form.what || '') ? '' : 'Pers. no. has four digits, see PA20'), asked: [['sub', 'STy', one(/^(1|0100|0010)$/, 'STy: 1 main, 0100 leave, 0010 mail')]], buttons: ['Save'] },
  PA20: { area: 'HR', title: 'Master data, display', fields: [['what', 'Matchcode']], buttons: ['Find'], dry: ['Find'],
    found: (data, form) => data.people[form.what] || 'No entry; matchcode is the full name' },
  PR05: { area: 'HR', title: 'Trip facts', fields: [['what', 'Pers. no.'], ['amount', 'Amount'], ['scheme', 'Scheme', ['', '01', '02', '09']]],
    needs: (data, form) => (/^\d{4}$/.test(form.what || '') ? '' : 'Pers. no. has four digits, see PA20'), asked: [['account', 'Cost assignment', one(/^CC-\d{4}$/, 'Cost assignment must be a valid object, see circular 14')]], buttons: ['Hold', 'Settle'] },
  KP06: { area: 'CO', title: 'Planning, primary', fields: [['what', 'Object'], ['amount', 'Value']], needs: (data, form) => (/^CC-\d{4}$/.test(form.what || '') ? '' : 'Object is not defined, see circular 14'),
    asked: [['version', 'Version', one(/^0$/, 'Only version 0 is open')], ['element', 'Element', one(/^4\d{5}$/, 'Element has six digits: 400000 materials, 410000 travel')]], buttons: ['Post'] },
  KS02: { area: 'CO', title: 'Object, alter', fields: [['what', 'Object'], ['owner', 'Accountable']], needs: (data, form) => (/^CC-\d{4}$/.test(form.what || '') ? '' : 'Object is not defined, see circular 14'),
    asked: [['from', 'Valid from', one(/^01\.01\.2027$/, 'Valid from 01.01.2027, see circular 14')]], buttons: ['Save'] },
  IW31: { area: 'PM', title: 'Order, header', fields: [['what', 'Functional object'], ['kind', 'Order type', ['', 'PM01', 'PM02', 'PM05']]], asked: [['prio', 'Priority', one(/^[1-4]$/, 'Priority 1 to 4, see circular 30')], ['centre', 'Work centre', one(/^WC\d$/, 'Work centre WC1 mechanics, WC2 electrics')]], buttons: ['Put in process', 'Save'] },
  IP42: { area: 'PM', title: 'Strategy', fields: [['what', 'Functional object'], ['cycle', 'Cycle', ['', '30 D', '90 D', '365 D']]], asked: [['group', 'Planner group', one(/^P0\d$/, 'Planner group P01 site, P02 fleet, see circular 30')]], buttons: ['Save'] },
  QA11: { area: 'QM', title: 'Usage decision', fields: [['what', 'Short text'], ['code', 'UD code', ['', 'A1', 'A3', 'R1', 'R9']]], asked: [['post', 'Posting proposal', one(/^VMENGE0[14]$/, 'Posting proposal VMENGE01 free, VMENGE04 scrap')]], buttons: ['Save'] },
  SU01: { area: 'BC', title: 'Identities', fields: [['what', 'User'], ['state', 'Status', ['', '0', '64', '128']]], asked: [['ticket', 'Ticket', one(/^INT$/, 'Ticket: INT for internal, see circular 2')]], buttons: ['Save'] },
  SPAD: { area: 'BC', title: 'Spool', fields: [['what', 'Object'], ['device', 'Device']], needs: (data, form) => (/^CC-\d{4}$/.test(form.what || '') ? '' : 'Object is not defined, see circular 14'), asked: [['model', 'Access method', one(/^[CGL]$/, 'Access method C, G or L; network devices are G, see circular 2')]], buttons: ['Save'] },
  SM36: { area: 'BC', title: 'Background', fields: [['what', 'Job'], ['cycle', 'Period', ['', 'D', 'W', 'M']]], asked: [['class', 'Class', one(/^[ABC]$/, 'Class A to C; reports are C, see circular 2')]], buttons: ['Hold', 'Release'] },
  CATS: { area: 'HR', title: 'Time sheet', fields: [['what', 'Pers. no.'], ['hours', 'Quantity'], ['type', 'A/A type', ['', '0800', '0801', '0900']]],
    needs: (data, form) => (/^\d{4}$/.test(form.what || '') ? '' : 'Pers. no. has four digits, see PA20'), asked: [['receiver', 'Receiver', one(/^CC-\d{4}$/, 'Receiver must be a valid object, see circular 14')]], buttons: ['Save'] },
};
const CIRCULARS = {
  'Circular 2': 'Identities: status 0 is free, 64 closed by us, 128 by attempts. Tickets of our own people: INT. Network devices use method G. Reports run in class C.',
  'Circular 7': 'Incoming items: tax V1 at home. Up to 1,000 post them, release 2 is NONE. Above that park them, release 2 is HADDAD; what was posted cannot be parked. Credits carry assignment GS and are posted. Control area 1000. Dunning A all, M first only, Z none. Variant is 1000, creditors are K, the year ends with period 012.',
  'Circular 9': 'Infotype 0006 dwelling, 0009 bank, 0105 mail, 2001 absence, 2006 quota. Trips: scheme 01 at home, 02 abroad, 09 relocation. A/A type 0800 ordinary, 0801 overtime, 0900 training.',
  'Circular 14': 'Objects: Laboratory CC-7300, Workshop CC-7410, Reception CC-7120, Canteen CC-7550, Archive CC-7080. Alterations hold from 01.01.2027. Held documents cannot be changed any more.',
  'Circular 21': 'Movement 101 in, 122 back to creditor, 311 between places, 551 scrap. SLoc 0001 is the yard, where goods come in and leave; 0007 is the cage for scrap. Our goods are V1. Orders go out by medium 5 to LF.',
  'Circular 30': 'PM01 is for what can wait (priority 3), PM02 for what stands still (priority 1): put in process at once. Planner group P01. UD code A1 good, A3 with reserve, R1 back, R9 destroyed.',
};

app('Orbit', (view, data) => {
  const open = (code) => { view.code = code; view.form = {}; view.shown = []; view.page = ''; };
  const enter = (form) => {
    const code = (form.command || '').trim().toUpperCase();
    if (TRANSACTIONS[code]) open(code);
    else notify(`Transaction ${code || '?'} does not exist`);
    form.command = '';
  };
  const check = (spec, form) => {
    for (const [key, label] of spec.fields) if (!form[key]) return `Fill in all required fields`;
    const needed = spec.needs ? spec.needs(data, form) : '';
    if (needed) return needed;
    for (const [key, label, rule] of spec.asked || []) {
      const complaint = rule(form[key]);
      if (complaint) { if (!view.shown.includes(key)) view.shown.push(key); return form[key] ? complaint : `${label} is missing`; }
    }
    return '';
  };
  const press = (code, spec, label) => {
    const { form } = view, complaint = check(spec, form);
    if (complaint) return notify(complaint);
    if ((spec.dry || []).includes(label)) return notify(spec.found ? spec.found(data, form) : 'No errors');
    const name = `${code} ${form.what}`, keys = [...spec.fields.slice(1), ...(spec.asked || [])].map(([key]) => form[key]);
    if (data.documents[name]) return notify('The document exists and cannot be changed');
    data.documents[name] = [...keys, label].join(' ');
    if (spec.after) spec.after(data, form);
    open('');
    return notify('Document saved');
  };
  const transaction = (code, spec) => [
    h('h2', {}, `${code} ${spec.title}`),
    spec.fields.map(([key, label, options]) => (options ? choose(view.form, key, label, options) : field(view.form, key, label))),
    (spec.asked || []).filter(([key]) => view.shown.includes(key)).map(([key, label]) => field(view.form, key, label)),
    h('div', { class: 'bar' }, spec.buttons.map((label) => button(label, () => press(code, spec, label))),
      button('Layout', () => { view.shown = (spec.asked || []).map(([key]) => key); })),
  ];
  const areas = [...new Set(Object.values(TRANSACTIONS).map((spec) => spec.area))].sort();
  const entries = () => Object.entries(TRANSACTIONS).filter(([, spec]) => spec.area === view.page)
    .map(([code, spec]) => row(`${code} ${spec.title}`, false, () => open(code)));
  const circulars = () => [Object.keys(CIRCULARS).map((name) => row(name, view.circular === name, () => { view.circular = name; })),
    view.circular && h('p', { role: 'status' }, CIRCULARS[view.circular])];
  const directory = () => h('div', { class: 'split' },
    h('aside', { role: 'tree' }, [...areas, 'Circulars'].map((name) => row(name, name === view.page, () => { view.page = name; }, 'treeitem'))),
    h('section', {}, view.page === 'Circulars' ? circulars() : entries()));

  view.form = view.form || {};
  view.shown = view.shown || [];
  view.entry = view.entry || {};
  return [
    h('div', { class: 'bar' }, field(view.entry, 'command', 'Command'), button('Enter', () => enter(view.entry)),
      button('Directory', () => { view.page = view.page || areas[0]; }), view.page && view.code && button('Back', () => { view.page = ''; })),
    view.page ? directory() : h('section', {}, view.code ? transaction(view.code, TRANSACTIONS[view.code]) : h('p', {}, 'Ready for a command')),
  ];
});
