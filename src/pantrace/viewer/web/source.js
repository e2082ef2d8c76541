// The two doors. A file holds its blocks in the document; a server sends the same blocks. Nothing else differs.

const meta = document.querySelector('meta[name=pantrace]');
export const served = meta.content === 'server';
export const token = meta.dataset.token;
const KEPT = 80;
const blocks = new Map();
const contents = new Map();

export class Missing extends Error {}

// Something taken out of a page: a long text, a picture, or a number that JSON in a browser would round.
export class Cut {
  constructor(found, head) {
    Object.assign(this, { number: found.number, image: found.image, mime: found.mime, text: found.text });
    this.size = found.size;
    this.bytes = found.bytes;
    this.head = head;
  }

  // Where a page expects a short text: its beginning, and a word that there is more.
  toString() {
    return this.number ?? (this.image ? '[picture]' : String(this.head).slice(0, 400) + '… [cut]');
  }
}

async function element(key) {
  for (;;) {
    // Asked first, looked up second: the document may be complete in between.
    const complete = document.readyState === 'complete';
    const found = document.getElementById(key);
    // A block is whole when something stands behind it.
    if (found && (complete || found.nextElementSibling)) return found;
    if (complete) throw new Missing('This part was left out of the report.');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function unpacked(key) {
  if (served) {
    const answer = await fetch('data/' + encodeURIComponent(key), { headers: { 'X-Pantrace': token } });
    if (answer.status === 404) throw new Missing('This part is not there any more: reload the page.');
    if (!answer.ok) throw new Error('The server answered ' + answer.status + '.');
    return answer;
  }
  const found = await element(key);
  const bytes = fromBase64(found.textContent);
  if (found.hasAttribute('data-plain')) return { text: () => new TextDecoder().decode(bytes) };
  if (/^image\/(png|jpeg|gif|webp)$/.test(found.dataset.mime)) return new Response(bytes);
  return new Response(new Response(bytes).body.pipeThrough(new DecompressionStream('gzip')));
}

export async function rawText(key) {
  try {
    return await (await unpacked(key)).text();
  } catch (error) {
    if (error instanceof Missing) throw error;
    throw new Error('This part is damaged and cannot be unpacked (' + (error.message || error.name) + ').');
  }
}

export function json(key) {
  let found = blocks.get(key);
  if (!found) {
    found = rawText(key).then(JSON.parse);
    found.then((content) => blocks.has(key) && contents.set(key, content), () => blocks.delete(key));
  } else {
    blocks.delete(key);
  }
  blocks.set(key, found);
  if (blocks.size > KEPT) {
    const oldest = blocks.keys().next().value;
    blocks.delete(oldest);
    contents.delete(oldest);
  }
  return found;
}

// What is unpacked already, without waiting; undefined where it is not.
export function ready(key) {
  return contents.get(key);
}

// What stands before the program is what the first page needs: all of it is unpacked at once.
export function readAhead() {
  for (const { id } of [...document.querySelectorAll('script[type="application/octet-stream"]')].slice(0, 4)) json(id).catch(() => {});
}

export async function imageAddress(key, mime) {
  return URL.createObjectURL(new Blob([await (await unpacked(key)).arrayBuffer()], { type: mime }));
}

// The short words about every row of a long sample; its page holds only those about the first rows.
export async function allHeads(page) {
  if (!page.rest) return;
  page.heads = await json(page.rest);
  delete page.rest;
  delete page.mainLane;
}

// Puts what was cut out in its place again, as a Cut. A record that has been through it stays as it is.
export function withCuts(record) {
  for (const [path, found] of record.cuts || []) {
    let parent = record;
    for (const name of path.slice(0, -1)) parent = parent[name];
    const last = path[path.length - 1];
    parent[last] = new Cut(found, parent[last]);
  }
  delete record.cuts;
  return record;
}

export async function send(path, body) {
  const answer = await fetch(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Pantrace': token },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error((await answer.text()) || 'The server answered ' + answer.status + '.');
  return answer.json();
}
