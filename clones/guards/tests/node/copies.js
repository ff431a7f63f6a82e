// Warms up every generator, makes two copies of the process, changes the page, and prints what each copy draws.
const [, , page, how] = process.argv;
const crypto = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const guard = how === 'alone' ? undefined : require(process.env.GUARD);

// As `seedrandom` does: the program's own generator, in the place of Math.random.
function seeded(seed) {
  let state = seed;
  return () => (state = (state * 48271) % 0x7fffffff) / 0x7fffffff;
}
const captured = Math.random;
if (how === 'seeded') Math.random = seeded(2026);

async function load(name) {
  try {
    return await import(createRequire(__filename).resolve(name));
  } catch {
    return undefined;
  }
}

async function main() {
  const [nanoid, uuid] = [await load('nanoid'), await load('uuid')];
  function draw() {
    const values = {
      math: Math.random(),
      captured: captured(),
      uuid: crypto.randomUUID(),
      webUuid: globalThis.crypto.randomUUID(),
      bytes: crypto.randomBytes(16).toString('hex'),
      values: globalThis.crypto.getRandomValues(new Uint32Array(2)).join(),
      int: crypto.randomInt(2 ** 47),
      key: crypto.generateKeyPairSync('x25519').publicKey.export({ format: 'jwk' }).x,
    };
    if (nanoid) values.nanoid = nanoid.nanoid();
    if (uuid) values.pooledUuid = uuid.v4({});
    return values;
  }
  draw();
  fs.rmdirSync('/copies');
  if (guard) {
    const file = fs.openSync(page, 'r+');
    const number = new BigUint64Array(1);
    fs.readSync(file, number, 0, 8, 104);
    number[0] += 1n;
    fs.writeSync(file, number, 0, 8, 104);
    await guard.heal();
  }
  fs.writeSync(1, `${JSON.stringify(draw())}\n`);
  fs.rmdirSync('/end');
}
main();
