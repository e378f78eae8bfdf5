// ioredis against a Hapax server: node ioredis.js PORT. Exits non-zero when a
// reply is not what it should be.
const assert = require('node:assert/strict');
const { Redis } = require('ioredis');

async function main() {
  const redis = new Redis({ port: Number(process.argv[2]), connectionName: 'till', maxRetriesPerRequest: 1 });
  assert.equal(await redis.ping(), 'PONG');
  assert.equal(await redis.client('GETNAME'), 'till');
  assert.equal(await redis.set('a', '1', 'EX', 60), 'OK');
  assert.equal(await redis.set('a', '2', 'NX'), null);
  assert.equal(await redis.incr('a'), 2);
  assert.deepEqual(await redis.mget('a', 'none'), ['2', null]);
  assert.deepEqual(await redis.getBuffer('a'), Buffer.from('2'));

  const pipeline = redis.pipeline();
  for (let i = 0; i < 1000; i++) pipeline.set(`p:${i}`, i);
  for (const [err, reply] of await pipeline.exec()) {
    assert.equal(err, null);
    assert.equal(reply, 'OK');
  }
  const found = new Set();
  for await (const keys of redis.scanStream({ match: 'p:*', count: 100 })) keys.forEach((k) => found.add(k));
  assert.equal(found.size, 1000);

  await assert.rejects(redis.call('NOSUCH', 'x'), /ERR unknown command 'NOSUCH'/);
  const begin = (fingerprint) => redis.call('IDEM', 'order:42', 'BEGIN', fingerprint, 'attempt', 60000);
  assert.deepEqual(await begin('digest'), ['acquired']);
  assert.deepEqual(await begin('digest'), ['pending']);
  assert.deepEqual(await begin('other'), ['conflict']);
  assert.equal(await redis.call('IDEM', 'order:42', 'COMPLETE', 'digest', 'attempt', Buffer.from([0, 13, 10, 255])), 1);
  const [state, result] = await redis.callBuffer('IDEM', 'order:42', 'BEGIN', 'digest', 'later', 60000);
  assert.equal(state.toString(), 'completed');
  assert.deepEqual(result, Buffer.from([0, 13, 10, 255]));
  assert.equal(await redis.quit(), 'OK');
}

main().catch((err) => {
  console.error(err);
  process.exit(1);
});
