'use strict';

app('Settings', (view, settings) => {
  const go = (page) => () => { view.page = page; view.tab = ''; view.form = {}; };
  const list = (values, chosen) => (chosen ? [...values, chosen] : values).filter((one, at, all) => all.indexOf(one) === at);
  view.page = view.page || 'System';
  view.form = view.form || {};

  const nightLight = () => dialog('Night light', {
    form: { on: settings.night_light, from: settings.night_from },
    body: (form) => [check(form, 'on', 'Night light'), field(form, 'from', 'Starts at')],
    ok: 'Save', commit: (form) => { settings.night_light = form.on; settings.night_from = form.from; },
  });
  const language = (form) => {
    form.language = form.language || settings.language;
    return [choose(form, 'language', 'Display language', LANGUAGES), choose(form, 'week', 'First day of the week', ['Monday', 'Sunday']),
      button('Apply', () => confirm('Change language', 'The new language is used after the next sign-in.', 'Change',
        () => { settings.language = form.language; notify('Language changed'); }))];
  };
  const networks = () => dialog('Known networks', {
    body: (form) => pick(form, 'name', settings.networks), ok: 'Close',
    extra: [['Properties…', () => notify('No properties')], ['Forget', (form) => form.name && confirm('Forget network', `Forget ${form.name}?`, 'Forget',
      () => { settings.networks = settings.networks.filter((one) => one !== form.name); })]], commit: () => {},
  });
  const proxy = () => dialog('Edit proxy', {
    form: settings.proxy, body: (form) => [field(form, 'host', 'Address'), field(form, 'port', 'Port'), field(form, 'except', 'Exceptions')],
    ok: 'Save', commit: (form) => { settings.proxy = form; },
  });
  const devices = (form) => [pick(form, 'device', settings.devices), h('div', { class: 'bar' },
    button('Add device…', () => notify('Searching for devices')),
    button('Remove…', () => form.device && confirm('Remove device', `Remove ${form.device}?`, 'Remove',
      () => { settings.devices = settings.devices.filter((one) => one !== form.device); })))];
  const alerts = (name) => dialog(`${name} alerts`, {
    screen: 'alerts', form: settings.alerts[name],
    tabs: {
      Style: (form) => [check(form, 'banner', 'Show banners'), check(form, 'badge', 'Show badge')],
      Behaviour: (form) => [check(form, 'mute', 'Mute'), check(form, 'lock', 'Show on lock screen')],
    },
    ok: 'Save', commit: (form) => { settings.alerts[name] = form; },
  });
  const sensor = (name) => dialog(`${name} access`, {
    screen: 'access', form: settings.access[name], body: (form) => Object.keys(form).map((one) => check(form, one, one)),
    ok: 'Save', commit: (form) => confirm('Restart apps', 'Running apps are restarted.', 'Continue', () => { settings.access[name] = form; }),
  });
  const addUser = () => dialog('New account', {
    form: { role: 'Guest' }, body: (form) => [field(form, 'name', 'User name'), choose(form, 'role', 'Role', ['Guest', 'Member', 'Editor', 'Administrator', 'Auditor', 'Operator'])],
    ok: 'Next', commit: (form) => confirm('Finish account', `Create ${form.name}?`, 'Finish', () => { settings.users[form.name] = form.role; }),
  });
  const features = (names) => (form) => {
    for (const name of names) form[name] = form[name] ?? settings.features[name];
    return [names.map((name) => check(form, name, name)), button('Apply', () => { Object.assign(settings.features, form); notify('Applied'); })];
  };
  const schedule = () => dialog('Backup schedule', {
    form: settings.backup, body: (form) => [choose(form, 'every', 'Frequency', ['never', 'hourly', 'daily', 'weekly', 'monthly', 'yearly']), field(form, 'at', 'Time')],
    ok: 'Save', commit: (form) => confirm('Start backups', 'Backups use your network.', 'Start', () => { settings.backup = form; }),
  });

  const pages = {
    System: {
      Display: () => [check(view.form, 'bright', 'Automatic brightness'), button('Warm colours…', nightLight), button('Identify displays', () => notify('1'))],
      Storage: () => [h('p', {}, '212 GB of 512 GB used'), button('Clean up…', () => notify('Nothing to clean up'))],
      'Language & region': () => language(view.form),
    },
    Connections: {
      Wireless: () => [check(view.form, 'metered', 'Metered connection'), button('Manage…', networks)],
      Devices: () => devices(view.form),
      Proxy: () => [h('p', {}, `Server: ${settings.proxy.host || 'none'}`), button('Edit…', proxy)],
    },
    Personalization: {
      Theme: () => choose(view.form, 'theme', 'Theme', ['Light', 'Dark']),
      Wallpaper: () => button('Browse…', () => notify('No pictures')),
    },
    'Sound & alerts': {
      General: () => [check(view.form, 'startup', 'Startup sound'), choose(view.form, 'device', 'Output device', ['Speakers', 'Headphones'])],
      'Per app': () => Object.keys(settings.alerts).map((name) => row(name, false, () => alerts(name))),
    },
    Privacy: {
      History: () => button('Clear history…', () => notify('History is empty')),
      Permissions: () => Object.keys(settings.access).map((name) => button(`${name}…`, () => sensor(name))),
    },
    Accounts: {
      'Your profile': () => field(view.form, 'nick', 'Nickname'),
      'Other users': () => [Object.entries(settings.users).map(([name, role]) => h('p', {}, `${name} (${role})`)), button('Add…', addUser)],
    },
    'Ease of access': {
      Vision: () => features(['High contrast', 'Magnifier', 'Large pointer'])(view.form),
      Hearing: () => features(['Mono audio', 'Live captions'])(view.form),
      Typing: () => features(['Sticky keys', 'Slow keys', 'Toggle keys', 'Mouse keys', 'Bounce keys'])(view.form),
    },
    Backup: {
      Copies: () => h('p', {}, 'No copies yet'),
      Plan: () => [h('p', {}, `Every: ${settings.backup.every}`), button('Schedule…', schedule)],
    },
  };
  return [
    h('div', { class: 'bar' }, button('Check for updates', () => { settings.update_checks += 1; notify('Up to date'); }), button('Help', () => notify('Help is on its way'))),
    h('div', { class: 'split' },
      h('aside', { role: 'tree' }, Object.keys(pages).map((page) => row(page, page === view.page, go(page), 'treeitem'))),
      h('section', {}, h('h2', {}, view.page), on(`Settings/${view.page}`, () => tabs(view, pages[view.page])))),
  ];
});

const LANGUAGES = ['English', 'German', 'Spanish', 'French', 'Italian', 'Polish', 'Swedish'];
