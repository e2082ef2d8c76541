// The frame around all pages: the way there, the keys, the theme.
import { h, iconButton, replace } from './dom.js';
import { json, readAhead, served } from './source.js';
import { report, remember, remembered } from './remembered.js';
import { runPage, tableOf } from './run_page.js';
import { RunsView } from './runs_page.js';
import { samplePage } from './sample_page.js';
import { comparePage } from './compare_page.js';
import { compareManyPage } from './compare_many.js';
import { plural } from './words.js';

const root = document.getElementById('app');
const KEYS = [
  ['j / k', 'next, previous step (or row)'], ['n / p', 'next, previous sample'], ['e', 'next error'], ['/', 'search in all steps, of this sample or of the run'], ['f', 'filters'], ['o', 'outline'],
  ['1 / 2', 'label good, bad (in `pantrace view`)'], ['g', 'back: to the run, to all runs'], ['t', 'light or dark'], ['?', 'this help'],
];
let site;
let view;
let asked = 0;

// #/run/0/sample/ID/step/12, #/run/0/samples, #/compare/0/1/case/ID, #/compare/0,1,2
function parsed(hash) {
  const parts = hash.replace(/^#\/?/, '').split('/').map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  if (parts[0] === 'run') {
    const step = parts[4] === 'step' ? Number.parseInt(parts[5], 10) : null;
    if (parts[2] === 'sample') return { page: 'sample', run: parts[1], sample: parts[3], step: step > 0 ? step : null, tab: parts[4] !== 'step' ? parts[4] : null };
    return { page: 'run', run: parts[1], tab: parts[2] };
  }
  if (parts[0] === 'compare' && parts[1]?.includes(',')) return { page: 'compare', runs: parts[1].split(',') };
  if (parts[0] === 'compare') return { page: 'compare', first: parts[1], second: parts[2], case: parts[3] === 'case' ? parts[4] : null };
  if (parts[0] === 'runs') return { page: 'runs' };
  return { page: '' };
}

async function opened(route) {
  if (route.page === 'compare') {
    const found = route.runs ? await compareManyPage(site, route) : await comparePage(site, route);
    if (found) return found;
  }
  // One run opens at once, and so does its only sample.
  const run = route.run !== undefined ? site.runs.find((each) => each.key === route.run) : route.page === '' && site.runs.length === 1 ? site.runs[0] : null;
  if (!run) return new RunsView(site);
  const table = await tableOf(run);
  if (route.page === 'sample' || (route.page === '' && table.size === 1)) {
    const place = route.page === '' ? 0 : table.key.indexOf(route.sample);
    if (place >= 0) return samplePage(site, run, table, place, route);
  }
  return runPage(site, run, table, route);
}

async function go() {
  const mine = (asked += 1);
  const route = parsed(location.hash);
  if (view?.page && route.page === 'sample' && view.run?.key === route.run && view.page.key === route.sample) {
    if (route.step) view.go(route.step - 1);
    return;
  }
  let next;
  try {
    next = await opened(route);
  } catch (error) {
    next = { title: 'Trouble', element: h('main', {}, h('div.scroll', {}, h('h1', {}, 'This page cannot be shown'), h('p.trouble', {}, error.message))), key: () => false, close() {} };
  }
  if (mine !== asked) return next.close();
  view?.close();
  view = next;
  document.title = view.title + ' · pantrace';
  replace(root, top(), view.element);
  view.arrived?.();
  if (route.step && view.page) view.go(route.step - 1);
}

function top() {
  const crumbs = [site.runs.length > 1 || !view.run ? h('a', { href: '#/runs' }, 'Runs') : null];
  if (view.run) crumbs.push(h('a', { href: '#/run/' + view.run.key + '/samples' }, view.run.name));
  if (view.page) crumbs.push(h('span.here', {}, view.page.key));
  if (view.found) crumbs.push(h('span.here', {}, 'Compare'));
  const place = view.page ? view.place : null;
  return h('header.top', {},
    h('a.brand', { href: '#/runs', 'aria-label': 'pantrace: all runs' }, h('span.logo', { 'aria-hidden': 'true' }), 'pantrace'),
    h('nav.crumbs', { 'aria-label': 'Where you are' }, crumbs),
    h('span.grow'),
    view.page && view.table.size > 1 ? h('span.pager', {},
      h('button.link', { type: 'button', title: 'previous sample (p)', onclick: () => view.neighbour(-1) }, '←'),
      h('span.quiet', {}, place + 1 + ' / ' + view.table.size),
      h('button.link', { type: 'button', title: 'next sample (n)', onclick: () => view.neighbour(1) }, '→')) : null,
    iconButton('moon', 'Light or dark (t)', theme),
    iconButton('help', 'Keys and help (?)', help));
}

const system = matchMedia('(prefers-color-scheme: dark)');

// As the reader chose, else as the machine is set.
function dress() {
  document.documentElement.dataset.theme = remembered('theme', null) || (system.matches ? 'dark' : 'light');
  view?.axis?.redraw();
}

function theme() {
  remember('theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  dress();
}

function help() {
  const dialog = h('dialog.sheet', { onclose: () => dialog.remove(), 'aria-label': 'Help' }, h('h2', {}, 'Keys'),
    h('dl.keys', {}, KEYS.map(([keys, words]) => h('div', {}, h('dt', {}, keys), h('dd', {}, words)))),
    h('p.quiet', {}, 'The search of the browser sees only what is on the screen; / searches everything. Times are UTC. “–” means not reported, “≈” estimated from tokens and list prices. Nothing is loaded from anywhere.'),
    h('p.quiet', {}, site.made ? 'Made ' + new Date(site.made * 1000).toISOString().slice(0, 16).replace('T', ' ') + ' by pantrace.' : ''),
    h('form', { method: 'dialog' }, h('button', {}, 'Close')));
  document.body.append(dialog);
  dialog.showModal();
}

function onkey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, textarea, select, dialog')) return;
  if (event.key === '?') help();
  else if (event.key === 't') theme();
  else if (event.key === 'g' && view.run) location.hash = view.page ? '#/run/' + view.run.key + '/samples' : '#/runs';
  else if (!view?.key(event.key)) return;
  event.preventDefault();
}

// A run that is being written: look again now and then.
async function watch() {
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, site.edition ? 2000 : 300));
    try {
      const answer = await fetch('state');
      const { edition, read } = await answer.json();
      if (edition === 0) replace(root.querySelector('h1'), 'Reading… ' + plural(read, 'sample') + ' so far');
      if (edition === site.edition) continue;
      site = await (await fetch('index')).json();
      if (view && !view.page) {
        view.page = null;
        await go();
      }
    } catch {
      return; // the server has ended
    }
  }
}

async function start() {
  dress();
  system.addEventListener('change', dress);
  if (!served) readAhead();
  try {
    site = served ? await (await fetch('index')).json() : await json('index');
  } catch (error) {
    replace(root, h('p.loading', {}, 'The report is damaged: ' + error.message));
    return;
  }
  report.id = site.id;
  addEventListener('hashchange', go);
  addEventListener('keydown', onkey);
  await go();
  if (served) watch();
}

start();
