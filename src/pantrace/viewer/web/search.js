// Search in what is packed: the browser's own search sees only what is on the screen.
import { h, replace } from './dom.js';
import { Cut, json, rawText, withCuts } from './source.js';
import { plural } from './words.js';

const MOST_HITS = 300;
const AHEAD = 6;

// Small samples share blocks, those that passed and the others different ones: the blocks read last are kept.
const RECENT = 6;
const recent = new Map();

function ahead(key) {
  if (recent.has(key)) return;
  const block = rawText(key).then((content) => ({ content, records: null }));
  block.catch(() => recent.delete(key));
  recent.set(key, block);
  if (recent.size > RECENT + AHEAD) recent.delete(recent.keys().next().value);
}

// Hits as they are found: {place, before, found, after}; chunk by chunk, so that the page stays alive.
async function* hits(chunks, word, stopped) {
  const escaped = JSON.stringify(word).slice(1, -1).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const close = new RegExp(escaped, 'i');
  const plain = word.toLowerCase();
  for (const [at, [first, , key, name]] of chunks.entries()) {
    if (stopped()) return;
    ahead(key);
    // The next ones are unpacked meanwhile.
    for (const [, , next] of chunks.slice(at, at + AHEAD)) ahead(next);
    let block;
    try {
      block = await recent.get(key);
    } catch (error) {
      yield { trouble: error.message };
      continue;
    }
    // Of a block that many samples share, one look tells of all.
    if (block.word !== word) Object.assign(block, { word, close: close.test(block.content) || block.content.includes('"cuts":') });
    if (!block.close) continue;
    block.records ||= JSON.parse(block.content);
    const records = block.records[name] || [];
    for (let place = 0; place < records.length; place += 1) {
      const texts = [];
      collect(withCuts(records[place]).steps, texts);
      for (const each of texts) {
        const text = each instanceof Cut ? (each.text ? await rawText(each.text).catch(() => '') : '') : each;
        const at = text.toLowerCase().indexOf(plain);
        if (at < 0) continue;
        yield { place: first + place, before: text.slice(Math.max(0, at - 40), at), found: text.slice(at, at + word.length), after: text.slice(at + word.length, at + word.length + 80) };
        break;
      }
    }
  }
}

// Of steps and their parts; deeper down, in arguments and answers, every name counts.
const NOT_WORDS = new Set(['id', 'call_id', 'type', 'role', 'parent', 'signature', 'extra', 'settings', 'invocation']);

function collect(value, texts, depth = 0) {
  if (typeof value === 'string') texts.push(value);
  else if (value instanceof Cut) texts.push(value);
  else if (typeof value === 'number') texts.push(String(value));
  else if (value && typeof value === 'object' && depth < 100) {
    for (const [name, each] of Object.entries(value)) {
      if (depth > 3 || !NOT_WORDS.has(name)) collect(each, texts, depth + 1);
      if (!Array.isArray(value) && depth > 3) texts.push(name);
    }
  }
}

// The samples of a run with the blocks that hold their steps.
export async function* everySample(table) {
  for (let place = 0; place < table.size; place += 1) {
    const found = (await json(table.block[place]))[table.key[place]];
    yield { sample: table.key[place], chunks: found.chunks };
  }
}

export function searchPanel({ places, open, close }) {
  let run = 0;
  const input = h('input', { type: 'search', placeholder: 'Search in all steps…', 'aria-label': 'Search in all steps' });
  const status = h('div.quiet', { role: 'status' });
  const list = h('ol.hits');
  const scope = h('select', { 'aria-label': 'Where to search' }, places.map(({ name }, place) => h('option', { value: place }, name)));
  const begin = async () => {
    const mine = (run += 1);
    const word = input.value.trim();
    replace(list);
    status.textContent = '';
    if (word.length < 2) return;
    const started = performance.now();
    const stopped = () => mine !== run;
    let found = 0;
    let looked = 0;
    status.textContent = 'Searching…';
    for await (const { sample, chunks } of places[scope.value].samples()) {
      for await (const hit of hits(chunks, word, stopped)) {
        if (stopped()) return;
        if (hit.trouble) {
          list.append(h('li.trouble', {}, hit.trouble));
          continue;
        }
        found += 1;
        list.append(h('li', {}, h('button', { type: 'button', onclick: () => open(sample, hit.place) },
          h('span.where', {}, sample ? sample + ' · ' : '', '#' + (hit.place + 1)), ' ', hit.before, h('mark', {}, hit.found), hit.after)));
        if (found >= MOST_HITS) break;
      }
      if (stopped()) return;
      looked += 1;
      if (looked % 500 === 0) {
        status.textContent = plural(found, 'step') + ' so far, in ' + plural(looked, 'sample') + '…';
        await new Promise((resolve) => setTimeout(resolve));
      }
      if (found >= MOST_HITS) break;
    }
    status.textContent = found >= MOST_HITS ? 'The first ' + MOST_HITS + ' steps that match.' : found ? plural(found, 'step') + ' found in ' + Math.max(1, Math.round(performance.now() - started)) + ' ms' : 'Nothing found.';
  };
  let timer;
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(begin, 250);
  });
  scope.addEventListener('change', begin);
  const panel = h('aside.search', { 'aria-label': 'Search', onkeydown: (event) => {
    const buttons = [...list.querySelectorAll('button')];
    const at = buttons.indexOf(document.activeElement);
    if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && event.target === input && buttons.length) buttons[0].click();
    else if (event.key === 'ArrowDown' && buttons.length) buttons[Math.min(at + 1, buttons.length - 1)].focus();
    else if (event.key === 'ArrowUp' && at > 0) buttons[at - 1].focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  } }, h('div.search-head', {}, input, places.length > 1 ? scope : null, h('button.icon-button', { type: 'button', 'aria-label': 'Close search', onclick: close }, '×')), status, list);
  return { panel, input };
}

