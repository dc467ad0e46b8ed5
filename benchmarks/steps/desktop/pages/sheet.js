'use strict';

app('Sheet', (view, book) => {
  const names = Object.keys(book.sheets);
  view.sheet = names.includes(view.sheet) ? view.sheet : names[0];
  const sheet = book.sheets[view.sheet];
  const columns = book.columns;
  const visible = columns.filter((name) => !sheet.hidden.includes(name));

  const sort = () => dialog('Sort', {
    form: { by: columns[0], order: 'Ascending' },
    body: (form) => [choose(form, 'by', 'Sort by', columns), radios(form, 'order', 'Order', ['Ascending', 'Descending']), check(form, 'header', 'First row is a header')],
    ok: 'OK', commit: (form) => { sheet.sort = `${form.by} ${form.order}`; },
  });
  const filter = () => dialog('Filter', {
    form: { column: columns[0], rule: 'is', value: '' },
    body: (form) => [choose(form, 'column', 'Column', columns), choose(form, 'rule', 'Condition', ['is', 'contains', 'is above']), field(form, 'value', 'Value')],
    ok: 'Apply', commit: (form) => { sheet.filter = `${form.column} ${form.rule} ${form.value}`; },
  });
  const hide = () => dialog('Hide columns', {
    body: (form) => visible.map((name) => check(form, name, name)), ok: 'Hide',
    commit: (form) => { sheet.hidden = columns.filter((name) => sheet.hidden.includes(name) || form[name]); },
  });
  const unhide = () => dialog('Unhide columns', {
    body: (form) => sheet.hidden.map((name) => check(form, name, name)), ok: 'Unhide',
    commit: (form) => { sheet.hidden = sheet.hidden.filter((name) => !form[name]); },
  });
  const cells = () => dialog('Format cells', {
    form: { column: columns[0], number: 'Automatic', align: 'Left' },
    tabs: {
      Range: (form) => choose(form, 'column', 'Column', columns),
      Font: (form) => choose(form, 'font', 'Family', ['Sans', 'Serif']),
      Number: (form) => choose(form, 'number', 'Category', ['Automatic', 'Currency', 'Percent', 'Date', 'Plain text']),
    },
    ok: 'OK', commit: (form) => { sheet.formats[form.column] = form.number; },
  });
  const chart = () => dialog('Chart', {
    form: { kind: 'Bar', title: '' },
    tabs: {
      Type: (form) => radios(form, 'kind', 'Chart type', ['Bar', 'Line', 'Pie', 'Area', 'Scatter']),
      Axes: (form) => check(form, 'grid', 'Grid lines'),
      Labels: (form) => [field(form, 'title', 'Title'), check(form, 'legend', 'Legend')],
    },
    ok: 'Insert chart', commit: (form) => { sheet.charts[form.title] = form.kind; },
  });
  const rename = () => dialog('Rename sheet', {
    form: { name: view.sheet }, body: (form) => field(form, 'name', 'Sheet name'), ok: 'Rename', commit: (form) => {
      book.sheets = Object.fromEntries(Object.entries(book.sheets).map(([name, one]) => [name === view.sheet ? form.name : name, one]));
      view.sheet = form.name;
    },
  });
  const protect = () => dialog('Protect sheet', {
    form: { password: '', again: '' }, body: (form) => [field(form, 'password', 'Password', 'password'), field(form, 'again', 'Repeat password', 'password')],
    ok: 'Protect', commit: (form) => { if (form.password === form.again) sheet.password = form.password; else notify('The passwords differ'); },
  });
  const unprotect = () => confirm('Unprotect sheet', 'Anybody can change the sheet then.', 'Unprotect', () => { sheet.password = ''; });
  const save = (kind) => () => dialog(`Export as ${kind}`, {
    screen: 'export', form: { name: '' }, body: (form) => [field(form, 'name', 'File name'), check(form, 'all', 'All sheets')], ok: 'Continue',
    commit: (form) => confirm('Export', 'The file goes to Documents.', 'Export', () => { book.exports[form.name] = kind; notify('Exported'); }),
  });
  const freeze = (what) => [what, () => { sheet.frozen = what; notify(`${what} frozen`); }];

  return [
    h('div', { class: 'bar' }, button('Recalculate', () => { book.recalculated += 1; notify('Recalculated'); }), on('Sheet/menus', () => [
      dropdown('File', [['Save', () => notify('Saved')], ['Export', ['PDF…', 'CSV…', 'ODS…', 'HTML…'].map((kind) => [kind, save(kind.slice(0, -1))])], ['Print…', () => notify('No printer')]]),
      dropdown('Edit', [['Undo', () => notify('Nothing to undo')], ['Find…', () => notify('Nothing found')], ['Rename sheet…', rename]]),
      dropdown('View', [['Zoom…', () => notify('100 %')], ['Freeze', [freeze('First row'), freeze('First column'), freeze('First two rows'), freeze('First two columns')]]]),
      dropdown('Insert', [['Comment…', () => notify('No cell selected')], ['Picture…', () => notify('No pictures')], ['Chart…', chart]]),
      dropdown('Format', [['Cells…', cells], ['Columns', [['Width…', () => notify('80')], ['Hide…', hide], ['Unhide…', unhide, !sheet.hidden.length]]]]),
      dropdown('Data', [['Validate…', () => notify('All valid')], ['Sort…', sort], ['Filter…', filter]]),
      dropdown('Tools', [['Macros…', () => notify('No macros')], ['Protection', [['Protect…', protect, !!sheet.password], ['Unprotect…', unprotect, !sheet.password]]]]),
    ])),
    h('section', {}, h('table', {}, h('thead', {}, h('tr', {}, visible.map((name) => h('th', {}, name)))),
      h('tbody', {}, book.rows.map((cells) => h('tr', {}, visible.map((name) => h('td', {}, String(cells[columns.indexOf(name)])))))))),
    h('div', { role: 'tablist', class: 'below' }, names.map((name) => h('div', {
      role: 'tab', class: 'row', 'aria-selected': String(name === view.sheet), onclick: then(() => { view.sheet = name; }) }, name))),
  ];
});
