// Answers each line with a number of every kind.
const crypto = require('node:crypto');
const draw = () =>
  [`Math.random=${Math.random()}`, `randomUUID=${crypto.randomUUID()}`, `randomInt=${crypto.randomInt(2 ** 47)}`,
    `randomBytes=${crypto.randomBytes(8).toString('hex')}`].join(' ');
draw();
require('node:readline').createInterface({ input: process.stdin }).on('line', () => console.log(draw()));
