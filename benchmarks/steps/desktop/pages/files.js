'use strict';

app('Files', (view, disk) => {
  view.folder = view.folder || disk.folders[0];
  const file = disk.files[view.file];
  const here = Object.entries(disk.files).filter(([, one]) => one.folder === view.folder);
  const inBin = file && file.folder === BIN;

  const rename = () => dialog('Rename', {
    form: { name: file.name }, body: (form) => field(form, 'name', 'Name'), ok: 'Rename', commit: (form) => { file.name = form.name; },
  });
  const move = () => dialog('Move to', {
    body: (form) => radios(form, 'folder', 'Folder', disk.folders.filter((one) => one !== BIN)), ok: 'Move',
    commit: (form) => { if (form.folder) { file.folder = form.folder; view.file = ''; } },
  });
  const share = () => dialog('Share', {
    form: { with: '', rights: 'Can view' }, body: (form) => [field(form, 'with', 'Share with'), choose(form, 'rights', 'Rights', ['Can view', 'Can edit'])],
    ok: 'Share', commit: (form) => { file.shared = `${form.with}: ${form.rights}`; },
  });
  const unshare = () => confirm('Stop sharing', `Nobody else will see ${file.name}.`, 'Stop sharing', () => { file.shared = ''; });
  const compress = () => dialog('Compress', {
    form: { name: '', level: 'Normal' }, body: (form) => [field(form, 'name', 'Archive name'), choose(form, 'level', 'Level', ['Fast', 'Normal', 'Best'])],
    ok: 'Create', commit: (form) => { disk.archives[form.name] = file.name; },
  });
  const properties = () => dialog('Properties', {
    form: { tags: file.tags, locked: file.locked },
    tabs: {
      General: () => [h('p', {}, file.name), h('p', {}, `In ${file.folder}`)],
      Details: (form) => field(form, 'tags', 'Tags'),
      Security: (form) => [check(form, 'locked', 'Read-only'), check(form, 'crypt', 'Encrypt')],
    },
    ok: 'Apply', commit: (form) => { file.tags = form.tags; file.locked = form.locked; },
  });
  const restore = () => confirm('Restore', `Put ${file.name} back?`, 'Restore', () => { file.folder = file.origin; view.file = ''; });
  const remove = () => confirm('Delete', `Move ${file.name} to the recycle bin?`, 'Delete', () => { file.origin = file.folder; file.folder = BIN; view.file = ''; });
  const create = () => dialog('New folder', {
    body: (form) => [field(form, 'name', 'Folder name'), choose(form, 'colour', 'Colour', ['Yellow', 'Blue'])], ok: 'Create',
    commit: (form) => { disk.created[form.name] = view.folder; notify('Folder created'); },
  });
  const nothing = !file;

  return [
    h('div', { class: 'bar' }, button('Sync now', () => { disk.synced += 1; notify('Everything is in sync'); }), button('Up', () => notify('Top level')),
      on('Files/toolbar', () => [
        dropdown('New', [['Text file…', () => notify('No templates')], ['Shortcut…', () => notify('No target')], ['Folder…', create]]),
        dropdown('View', [['Icons', () => {}], ['List', () => {}]]),
        dropdown('More', [['Open with…', () => notify('No application'), nothing], ['Rename…', rename, nothing || inBin], ['Move to…', move, nothing || inBin],
          ['Sharing', [['Share…', share, nothing || !!file.shared], ['Stop sharing…', unshare, nothing || !file.shared]]],
          ['Compress…', compress, nothing], ['Properties…', properties, nothing], ['Restore…', restore, !inBin], ['Delete…', remove, nothing || inBin]]),
      ])),
    h('div', { class: 'split' },
      h('aside', { role: 'tree' }, disk.folders.map((name) => row(name, name === view.folder, () => { view.folder = name; view.file = ''; }, 'treeitem'))),
      h('div', { role: 'listbox', class: 'list' }, here.map(([id, one]) => row(one.name, id === view.file, () => { view.file = id; }))),
      h('section', {}, file ? [h('h2', {}, file.name), h('p', {}, file.shared ? `Shared with ${file.shared}` : 'Not shared')] : h('p', {}, 'Nothing selected'))),
  ];
});

const BIN = 'Recycle bin';
