'use strict';

app('Mail', (view, mail) => {
  view.folder = view.folder || 'Inbox';
  const chosen = mail.messages[view.message];
  const messages = Object.entries(mail.messages).filter(([, message]) => message.folder === view.folder);

  const compose = () => dialog('New message', {
    form: { to: '', subject: '', text: '', importance: 'Normal', receipt: false },
    tabs: {
      'Message text': (form) => [field(form, 'to', 'To'), field(form, 'subject', 'Subject'), field(form, 'text', 'Message', 'area')],
      'Delivery options': (form) => [choose(form, 'importance', 'Importance', ['Low', 'Normal', 'High']), check(form, 'receipt', 'Request a read receipt')],
    },
    ok: 'Send', commit: (form) => { mail.sent.push(form); notify('Message sent'); },
  });
  const move = () => dialog('Move message', {
    body: (form) => radios(form, 'folder', 'Destination', mail.folders), ok: 'Move',
    commit: (form) => { if (form.folder) { chosen.folder = form.folder; view.message = ''; } },
  });
  const block = () => confirm('Block sender', `Messages of ${chosen.from} will go to Junk.`, 'Block', () => { mail.blocked.push(chosen.from); });
  const categorize = () => dialog('Categorize', {
    form: { category: chosen.category }, body: (form) => choose(form, 'category', 'Category', ['None', 'Red', 'Green', 'Blue', 'Orange']),
    ok: 'Save', commit: (form) => { chosen.category = form.category; },
  });
  const preferences = () => dialog('Preferences', {
    form: { signature: mail.signature, receipts: mail.receipts, preview: true },
    tabs: {
      General: (form) => check(form, 'sound', 'Play a sound for new mail'),
      Reading: (form) => [check(form, 'preview', 'Show preview'), choose(form, 'receipts', 'Answer read receipts', ['Ask', 'Always', 'Never', 'Weekdays only', 'Later'])],
      Composing: (form) => [choose(form, 'format', 'Format', ['Rich', 'Plain']), button('Signature…', () => dialog('Signature', {
        form, body: (inner) => field(inner, 'signature', 'Signature text', 'area'), ok: 'OK', commit: (inner) => { form.signature = inner.signature; },
      }))],
    },
    ok: 'Save', commit: (form) => { mail.signature = form.signature; mail.receipts = form.receipts; },
  });
  const junk = () => dialog('Junk settings', {
    form: { gone: [] },
    tabs: {
      Level: (form) => radios(form, 'level', 'Protection', ['Low', 'High']),
      'Safe senders': () => h('p', {}, 'Nobody yet'),
      'Blocked senders': (form) => [pick(form, 'sender', mail.blocked.filter((one) => !form.gone.includes(one))),
        button('Remove', () => form.sender && form.gone.push(form.sender))],
    },
    ok: 'Save', commit: (form) => { mail.blocked = mail.blocked.filter((one) => !form.gone.includes(one)); },
  });
  const replies = () => dialog('Automatic replies', {
    form: mail.away, body: (form) => [check(form, 'on', 'Send automatic replies'), field(form, 'text', 'Reply text', 'area')],
    ok: 'Save', commit: (form) => { mail.away = form; },
  });
  const newRule = () => dialog('New rule', {
    form: { folder: 'Inbox' }, body: (form) => [field(form, 'from', 'Sender contains'), choose(form, 'folder', 'Move to folder', mail.folders)],
    ok: 'Next', commit: (form) => confirm('Finish rule', 'The rule is used for new messages.', 'Finish', () => { mail.rules[form.from] = form.folder; }),
  });
  const rules = () => dialog('Rules', {
    body: () => Object.entries(mail.rules).map(([from, folder]) => h('p', {}, `${from} → ${folder}`)), ok: 'Close', commit: () => {}, extra: [['Add…', newRule]],
  });

  return [
    h('div', { class: 'bar' }, button('New message', compose), button('Reply', () => notify('Reply is not set up'), !chosen),
      button('Refresh', () => { mail.refreshed += 1; notify('No new messages'); }),
      on('Mail/toolbar', () => [
        dropdown('More', [['Flag', () => { chosen.flag = true; }, !chosen || chosen.flag], ['Clear flag', () => { chosen.flag = false; }, !chosen || !chosen.flag],
          ['Move to…', move, !chosen], ['Categorize…', categorize, !chosen], ['Block sender…', block, !chosen], ['Print…', () => notify('No printer')]]),
        dropdown('Options', [['Preferences…', preferences], ['Rules…', rules], ['Junk settings…', junk], ['Automatic replies…', replies]]),
      ])),
    h('div', { class: 'split' },
      h('aside', { role: 'tree' }, mail.folders.map((name) => row(name, name === view.folder, () => { view.folder = name; view.message = ''; }, 'treeitem'))),
      h('div', { role: 'listbox', class: 'list' }, messages.map(([id, message]) =>
        row(`${id}, from ${message.from}`, id === view.message, () => { view.message = id; }))),
      h('section', {}, chosen ? [h('h2', {}, view.message), h('p', {}, `${chosen.from}${chosen.flag ? ' ⚑' : ''}`), h('p', {}, chosen.text)] : h('p', {}, 'Nothing selected'))),
  ];
});
