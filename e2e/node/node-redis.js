// node-redis against a Hapax server: node node-redis.js PORT RESP. Exits
// non-zero when a reply is not what it should be.
const assert = require('node:assert/strict');
const { createClient } = require('redis');

async function main() {
  const [port, resp] = process.argv.slice(2).map(Number);
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false }, RESP: resp, name: 'till' });
  const failures = [];
  client.on('error', (err) => failures.push(err));
  await client.connect();
  assert.equal(await client.ping(), 'PONG');
  assert.equal(await client.clientGetName(), 'till');
  assert.equal(await client.set('a', '1', { expiration: { type: 'EX', value: 60 } }), 'OK');
  assert.equal(await client.set('a', '2', { condition: 'NX' }), null);
  assert.equal(await client.incrBy('a', 41), 42);
  assert.deepEqual(await client.mGet(['a', 'none']), ['42', null]);
  assert.equal(await client.incrByFloat('f', 0.5), '0.5');

  // Sent in one tick, these travel as one pipeline.
  const replies = await Promise.all(Array.from({ length: 1000 }, (_, i) => client.set(`p:${i}`, String(i))));
  assert.ok(replies.every((r) => r === 'OK'));
  const found = new Set();
  for await (const keys of client.scanIterator({ MATCH: 'p:*', COUNT: 100 })) keys.forEach((k) => found.add(k));
  assert.equal(found.size, 1000);

  await assert.rejects(client.sendCommand(['NOSUCH', 'x']), /ERR unknown command 'NOSUCH'/);
  const begin = (fingerprint) => client.sendCommand(['IDEM', 'order:42', 'BEGIN', fingerprint, 'attempt', '60000']);
  assert.deepEqual(await begin('digest'), ['acquired']);
  assert.deepEqual(await begin('digest'), ['pending']);
  assert.deepEqual(await begin('other'), ['conflict']);
  assert.equal(await client.sendCommand(['IDEM', 'order:42', 'COMPLETE', 'digest', 'attempt', 'saved']), 1);
  assert.deepEqual(await begin('digest'), ['completed', 'saved']);
  await client.close();
  assert.deepEqual(failures, []);
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
