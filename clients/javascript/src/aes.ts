/**
 * AES-128 under the public key of the generator, on single blocks.
 *
 * Owns the permutation, not what it is used for: here nothing is secret and nothing is hidden.
 * WebCrypto has no mode that encrypts many single blocks in one call, and one call for each
 * takes about ten times as long. There is no table, and no branch or address depends on a
 * block: 32 bytes at a time are kept as eight planes, plane b holding bit b of each, and work
 * is done on whole planes. Tests compare blocks with WebCrypto's.
 */

/** The first 16 bytes of SHA-256("dpcov cap expansion 1"), as little-endian numbers. */
const KEY = [0x63a9be4d, 0x47a33f91, 0x02858e89, 0x6e807cad];
const ROUNDS = 10;

type Planes = Int32Array;

/** Eight words ⇄ eight planes: bit b of byte c of word w ⇄ bit w of byte c of plane b. */
function transpose(q: Planes): void {
  swapBits(q, 1, 0x55555555);
  swapBits(q, 2, 0x33333333);
  swapBits(q, 4, 0x0f0f0f0f);
}

function swapBits(q: Planes, step: number, mask: number): void {
  for (let w = 0; w < 8; w++) {
    if (w & step) continue;
    const t = ((q[w] >>> step) ^ q[w + step]) & mask;
    q[w + step] ^= t;
    q[w] ^= t << step;
  }
}

/** The S-box of 32 bytes at once, by the circuit of Boyar and Peralta (2010). */
function substitute(q: Planes): void {
  const x0 = q[7], x1 = q[6], x2 = q[5], x3 = q[4], x4 = q[3], x5 = q[2], x6 = q[1], x7 = q[0];
  // Linear: into a tower of fields.
  const y14 = x3 ^ x5, y13 = x0 ^ x6, y9 = x0 ^ x3, y8 = x0 ^ x5, a = x1 ^ x2, y1 = a ^ x7;
  const y4 = y1 ^ x3, y12 = y13 ^ y14, y2 = y1 ^ x0, y5 = y1 ^ x6, y3 = y5 ^ y8, b = x4 ^ y12;
  const y15 = b ^ x5, y20 = b ^ x1, y6 = y15 ^ x7, y10 = y15 ^ a, y11 = y20 ^ y9;
  const y7 = x7 ^ y11, y17 = y10 ^ y11, y19 = y10 ^ y8, y16 = a ^ y11, y21 = y13 ^ y16;
  const y18 = x0 ^ y16;
  // Inversion there.
  const c = y12 & y15, d = y13 & y16, e = y9 & y11, f = e ^ (y14 & y17), g = e ^ (y8 & y10);
  const h = c ^ (y3 & y6) ^ f ^ y20, i = c ^ (y4 & x7) ^ g ^ y19;
  const j = d ^ (y5 & y1) ^ f ^ y21, k = d ^ (y2 & y7) ^ g ^ y18;
  const l = h ^ i, m = h & j, n = k ^ m, o = (l & n) ^ i, p = ((i ^ m) & (j ^ k)) ^ k;
  const r = k & (n ^ p), s = r ^ j ^ p, t = l ^ (o & (n ^ r));
  const u = t ^ s, v = o ^ p, w = o ^ t, x = p ^ s, y = v ^ u;
  const z0 = x & y15, z1 = s & y6, z2 = p & x7, z3 = w & y16, z4 = t & y1, z5 = o & y7;
  const z6 = v & y11, z7 = y & y17, z8 = u & y10, z9 = x & y12, z10 = s & y3, z11 = p & y4;
  const z12 = w & y13, z13 = t & y5, z14 = o & y2, z15 = v & y9, z16 = y & y14, z17 = u & y8;
  // Linear: back, with the affine map.
  const A = z15 ^ z16, B = z5 ^ z13, C = z0 ^ z3, D = z2 ^ z12 ^ C, E = z4 ^ A, F = z3 ^ z6 ^ z7;
  const G = z7 ^ z8 ^ E, H = z9 ^ z10 ^ E, I = z4 ^ F, J = z14 ^ D ^ G, K = z1 ^ H;
  q[7] = F ^ H;
  q[4] = C ^ K;
  q[6] = ~(I ^ q[4]);
  q[5] = ~(z16 ^ z17 ^ I ^ J);
  q[3] = z2 ^ z5 ^ K;
  q[2] = z10 ^ z11 ^ J;
  q[1] = ~(z12 ^ B ^ G);
  q[0] = ~(B ^ A ^ D);
}

/** Byte c of a plane is row c of the states of two blocks, a column in each bit. */
function shiftRows(q: Planes): void {
  for (let b = 0; b < 8; b++) {
    const x = q[b];
    q[b] =
      (x & 0xff) |
      ((x >>> 1) & 0x7700) | ((x << 3) & 0x8800) |
      ((x >>> 2) & 0x330000) | ((x << 2) & 0xcc0000) |
      ((x >>> 3) & 0x11000000) | ((x << 1) & 0xee000000);
  }
}

/** Each row becomes 2·itself + 3·the next + the two after: 2(a + a₁) + a₁ + (a + a₁)₂. */
function mixColumns(q: Planes): void {
  const top = q[7] ^ ((q[7] >>> 8) | (q[7] << 24));
  let below = top; // the plane that doubling moves up; the top one falls back on planes 0, 1, 3 and 4
  for (let b = 0; b < 8; b++) {
    const next = (q[b] >>> 8) | (q[b] << 24);
    const both = q[b] ^ next;
    q[b] = below ^ next ^ ((both >>> 16) | (both << 16)) ^ (top & -((0x1a >> b) & 1));
    below = both;
  }
}

function addKey(q: Planes, round: number): void {
  for (let b = 0; b < 8; b++) q[b] ^= ROUND_KEYS[8 * round + b];
}

function expandKey(): Int32Array {
  const words = new Int32Array(4 * (ROUNDS + 1));
  words.set(KEY);
  const q = new Int32Array(8);
  for (let i = 4, constant = 1; i < words.length; i++) {
    let word = words[i - 1];
    if (i % 4 === 0) {
      q.fill(0);
      q[0] = (word >>> 8) | (word << 24);
      transpose(q);
      substitute(q);
      transpose(q);
      word = q[0] ^ constant;
      constant = (constant << 1) ^ (constant >> 7) * 0x11b;
    }
    words[i] = words[i - 4] ^ word;
  }
  const planes = new Int32Array(8 * (ROUNDS + 1));
  for (let round = 0; round <= ROUNDS; round++) {
    const key = words.subarray(4 * round, 4 * round + 4);
    q.set(key);
    q.set(key, 4);
    transpose(q);
    planes.set(q, 8 * round);
  }
  return planes;
}

const ROUND_KEYS = /* @__PURE__ */ expandKey();

/**
 * Encrypt blocks in place.
 *
 * @param blocks four little-endian words for each block; an even number of blocks
 */
export function encryptBlocks(blocks: Int32Array): void {
  const q = new Int32Array(8);
  for (let start = 0; start < blocks.length; start += 8) {
    for (let w = 0; w < 8; w++) q[w] = blocks[start + w];
    transpose(q);
    addKey(q, 0);
    for (let round = 1; round < ROUNDS; round++) {
      substitute(q);
      shiftRows(q);
      mixColumns(q);
      addKey(q, round);
    }
    substitute(q);
    shiftRows(q);
    addKey(q, ROUNDS);
    transpose(q);
    blocks.set(q, start);
  }
}
