'use strict';
// Gives the generators of a Node program new state when its machine was cloned or restored.
//
//     node --require /usr/local/lib/wellspring/guards/clone_guard.js program.js
//     NODE_OPTIONS='--require /usr/local/lib/wellspring/guards/clone_guard.js'      for every program, and its workers
//
// A timer compares the number of the generation page (docs/generation-page.md of the project) every 10 ms: a Node program
// can neither map a file nor wait for a futex. After a change, in this order:
//
// - OpenSSL takes 256 bits from wellspring, by libwellspring-preload.so one folder above this file: `crypto`, TLS, keys;
// - what `crypto` has ready, 128 identifiers for `randomUUID` and 1024 numbers for `randomInt`, is drawn and thrown away;
// - so are the pools of `nanoid` and `uuid`, and of what the program has given to `register`;
// - `Math.random` draws on AES-256 with a new key from then on: nothing can reach the state of V8's own generator.
//
// A `Math.random` with a seed keeps its sequence: with --random-seed, or when the program has put a function of its own
// in its place. The guard replaces `Math.random` when it is loaded. Other realms (`vm.createContext`) have their own.

const crypto = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const PAGE = process.env.WELLSPRING_PAGE ?? '/run/wellspring/generation';
const LIBRARY = process.env.WELLSPRING_PRELOAD ?? path.join(__dirname, '..', 'libwellspring-preload.so');
const PAGE_BYTES = 4096;
const COUNTER = 104;
const LOOK_MS = 10;
// A page may appear or be replaced: the path is looked at once in so many looks.
const LOOKS_TO_OPEN = 100;
// Numbers that `Math.random` has ready after a notice.
const POOL = 1024;

// The page: an open file that this process may believe.
let file;
let inode = 0;
let hadPage = false;
let looks = 0;
const number = new BigUint64Array(1);
let handled = 0n;

function openPage() {
  let opened;
  try {
    if (inode !== 0 && fs.statSync(PAGE).ino === inode) return;
    opened = fs.openSync(PAGE, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK);
    const status = fs.fstatSync(opened);
    const head = Buffer.alloc(32);
    const isSafe = [0, process.geteuid()].includes(status.uid) && (status.mode & 0o022) === 0;
    const isPage = status.isFile() && status.size === PAGE_BYTES && fs.readSync(opened, head, 0, 32, 0) === 32
      && head.toString('latin1', 0, 4) === 'VCLK' && head.readUInt32LE(4) >= COUNTER + 8 && head.readUInt16LE(8) === 1
      && (head[25] & 1) === 1;
    if (isSafe && isPage) {
      if (file !== undefined) fs.closeSync(file);
      [file, inode, opened] = [opened, status.ino, undefined];
      // The state of this process is older than a page that came later.
      if (!hadPage && looks === 0) handled = readNumber();
      hadPage = true;
    }
  } catch {
    // No page.
  } finally {
    if (opened !== undefined) fs.closeSync(opened);
  }
}

function readNumber() {
  fs.readSync(file, number, 0, 8, COUNTER);
  return number[0];
}

// Math.random: V8's own generator until a notice, a pool after it.
const native = Math.random;
const words = new Uint32Array(2 * POOL);
const pool = new Float64Array(POOL);
let next = POOL;
let cipher;

function pooled() {
  if (next === POOL) {
    cipher.update(new Uint8Array(words.buffer)).copy(new Uint8Array(words.buffer));
    for (let i = 0; i < POOL; i++) pool[i] = ((words[2 * i] >>> 5) * 0x4000000 + (words[2 * i + 1] >>> 6)) / 2 ** 53;
    next = 0;
  }
  return pool[next++];
}

let draw = native;
const hasSeed = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((word) => /--random[-_]seed/.test(word));
if (!hasSeed) Math.random = { random() { return draw(); } }.random;

// The kernel's bytes, which vmgenid has changed; OpenSSL's; and the clocks, for copies whose kernel had no notice.
function fresh() {
  const seed = Buffer.alloc(32);
  const urandom = fs.openSync('/dev/urandom', 'r');
  fs.readSync(urandom, seed, 0, 32, null);
  fs.closeSync(urandom);
  const clocks = `${process.hrtime.bigint()} ${Date.now()} ${performance.now()}`;
  return crypto.createHash('sha512').update(seed).update(crypto.randomBytes(32)).update(clocks).digest();
}

function healMath() {
  const seed = fresh();
  cipher = crypto.createCipheriv('aes-256-ctr', seed.subarray(0, 32), seed.subarray(32, 48));
  next = POOL;
  draw = pooled;
}

// The entry point of a module in the library mixes 256 bits into OpenSSL. Node calls it each time.
function healOpenssl() {
  try {
    process.dlopen({ exports: {} }, LIBRARY);
    return true;
  } catch {
    return false;
  }
}

function drainCrypto() {
  for (let i = 0; i < 128; i++) crypto.randomUUID();
  for (let i = 0; i < 1024; i++) crypto.randomInt(2);
}

// `random(1)` of nanoid is a view of its pool. A view further in front is one of a new filling.
function drainNanoid(random) {
  let last = -1;
  for (let place = random(1).byteOffset; place > last; place = random(1).byteOffset) last = place;
}

// With an argument `v4` of uuid draws on a pool of 16, else on crypto.randomUUID.
function drainUuid(v4) {
  for (let i = 0; i < 17; i++) v4({});
}

function drainModule(exports) {
  if (typeof exports?.nanoid === 'function' && typeof exports.random === 'function') drainNanoid(exports.random);
  else if (typeof exports?.v4 === 'function' && typeof exports.validate === 'function') drainUuid(exports.v4);
}

const POOLED = /\/node_modules\/(nanoid|uuid)\//;
const registered = [];

async function drainImported() {
  const from = createRequire(process.argv[1] ?? `${process.cwd()}/-`);
  for (const name of ['nanoid', 'uuid']) {
    try {
      drainModule(await import(pathToFileURL(from.resolve(name))));
    } catch {
      // The program does not have it.
    }
  }
}

// The library is loaded here once, and quickly found at a notice.
const state = { notices: 0, lastMs: 0, openssl: healOpenssl() };

function heal() {
  const began = performance.now();
  state.openssl = healOpenssl();
  const actions = [drainCrypto, ...registered];
  if (!hasSeed) actions.unshift(healMath);
  for (const [name, module] of Object.entries(require.cache)) {
    if (POOLED.test(name)) actions.push(() => drainModule(module.exports));
  }
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      // One generator must not keep the others as they were.
      process.emitWarning(error);
    }
  }
  state.notices += 1;
  state.lastMs = performance.now() - began;
  return drainImported();
}

// Looks for a change now, and heals. Returns whether there was one. Programs may call it after they resumed.
function check() {
  if (looks % LOOKS_TO_OPEN === 0) openPage();
  looks += 1;
  if (file === undefined || readNumber() === handled) return false;
  handled = number[0];
  heal();
  return true;
}

// A function that the program wants called at a notice, such as one that empties a pool of its own.
function register(action) {
  if (typeof action !== 'function') throw new TypeError('register takes a function');
  registered.push(action);
}

if (!state.openssl) process.emitWarning(`${LIBRARY} cannot be loaded: node:crypto will repeat what a copy returns`);
check();
setInterval(check, LOOK_MS).unref();

module.exports = {
  check,
  heal,
  register,
  status: () => ({ page: file !== undefined, ...state }),
};
