// A whole sample to paste elsewhere or to print: all of its steps, unpacked.
import { h } from './dom.js';
import { allHeads, json, withCuts } from './source.js';
import { drawStep, stepShell } from './step.js';
import { plainCuts, sampleAsMarkdown, toClipboard } from './copying.js';
import { count } from './words.js';

export function headOf(page, place) {
  const found = {};
  for (const [name, column] of Object.entries(page.heads)) found[name] = column[place];
  return found;
}

async function allRecords(page) {
  const records = [];
  for (const chunk of page.chunks) {
    const found = (await json(chunk[2]))[chunk[3]];
    records.push(...found.map((record) => withCuts(record)));
  }
  return records;
}

export async function copySample(page, asJson) {
  try {
    const records = await allRecords(page);
    const content = asJson ? JSON.stringify({ ...page, heads: undefined, rest: undefined, size: undefined, chunks: undefined, steps: records.flatMap((record) => record.steps) }, plainCuts, 1) : sampleAsMarkdown(page, records);
    await toClipboard(content, 'Sample');
  } catch (error) {
    await toClipboard(error.message, 'Trouble');
  }
}

export async function printSample(page) {
  const { size } = page;
  if (size > 500 && !confirm('Print all ' + count(size) + ' steps? This may take a while.')) return;
  await allHeads(page);
  const records = await allRecords(page);
  const still = { unfolded: true, address: () => '#', link: () => {}, toggleRaw: () => {} };
  const paper = h('div.paper', {}, h('h1', {}, page.title || page.id), records.map((record, place) => drawStep(stepShell(headOf(page, place), place, place + 1), headOf(page, place), place + 1, record, still)));
  document.body.append(paper);
  window.print();
  paper.remove();
}
