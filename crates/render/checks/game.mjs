// Makes a folder as a game has it: models in `models/props`, images in `textures`, which the models name in the ways that tools do.
//
//     node game.mjs FOLDER
//
// The bytes are the same in each run. JPEG and WebP are absent unless `makeGame` is given functions that encode them.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { crc32, deflateSync } from 'node:zlib';

/** An image of red, green, blue and alpha, the upper row first, whose colours are given by a function. */
function painted(width, height, color) {
  const bytes = new Uint8Array(width * height * 4);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) bytes.set(color(x / width, y / height), (y * width + x) * 4);
  }
  return { width, height, bytes };
}

const stripes = (value, count) => Math.floor(value * count) % 2;
/** Different in each corner, so that an image that is turned, mirrored or moved is noticed. */
const marked = (red, green, blue) => (u, v) => {
  if (u < 0.25 && v < 0.25) return [240, 240, 60, 255];
  const dark = stripes(u, 8) === stripes(v, 8) ? 0.6 : 1;
  return [red * dark * (1 - u / 2), green * dark, blue * dark * (1 - v / 2), 255].map(Math.round);
};
/** Round leaves, with nothing between them. */
const leaves = (u, v) => {
  const [x, y] = [u * 4 % 1 - 0.5, v * 4 % 1 - 0.5];
  return x * x + y * y < 0.18 ? [50, 120 + Math.round(80 * v), 40, 255] : [50, 120, 40, 0];
};
const glass = (u, v) => [90, 160, 200, Math.round(60 + 120 * (stripes(u, 2) ? u : v))];

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, 'latin1'), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

export function png({ width, height, bytes }) {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 6], 8);
  const rows = Buffer.alloc(height * (width * 4 + 1));
  for (let y = 0; y < height; y++) rows.set(bytes.subarray(y * width * 4, (y + 1) * width * 4), y * (width * 4 + 1) + 1);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))]);
}

/** Runs of equal pixels, and of different ones, as TGA compresses a row. */
function compressedRow(pixels) {
  const out = [];
  for (let at = 0; at < pixels.length;) {
    let equal = 1;
    while (equal < 128 && at + equal < pixels.length && pixels[at].equals(pixels[at + equal])) equal++;
    if (equal > 1) {
      out.push(Buffer.from([127 + equal]), pixels[at]);
      at += equal;
      continue;
    }
    let end = at + 1;
    while (end - at < 128 && end < pixels.length && !(end + 1 < pixels.length && pixels[end].equals(pixels[end + 1]))) end++;
    out.push(Buffer.from([end - at - 1]), ...pixels.slice(at, end));
    at = end;
  }
  return Buffer.concat(out);
}

/** A TGA of 24 or 32 bits. */
export function tga({ width, height, bytes }, { bits = 24, isCompressed = false, isFromAbove = false } = {}) {
  const head = Buffer.alloc(18);
  head[2] = isCompressed ? 10 : 2;
  head.writeUInt16LE(width, 12);
  head.writeUInt16LE(height, 14);
  head[16] = bits;
  head[17] = (bits === 32 ? 8 : 0) | (isFromAbove ? 0x20 : 0);
  const rows = [head];
  for (let row = 0; row < height; row++) {
    const y = isFromAbove ? row : height - 1 - row;
    const pixels = [];
    for (let x = 0; x < width; x++) {
      const [red, green, blue, alpha] = bytes.subarray((y * width + x) * 4);
      pixels.push(Buffer.from([blue, green, red, alpha].slice(0, bits / 8)));
    }
    rows.push(isCompressed ? compressedRow(pixels) : Buffer.concat(pixels));
  }
  return Buffer.concat(rows);
}

/** A BMP of 24 bits, the lower row first. */
export function bmp({ width, height, bytes }) {
  const stride = Math.ceil(width * 3 / 4) * 4;
  const out = Buffer.alloc(54 + stride * height);
  out.write('BM', 0, 'latin1');
  out.writeUInt32LE(out.length, 2);
  out.writeUInt32LE(54, 10);
  out.writeUInt32LE(40, 14);
  out.writeInt32LE(width, 18);
  out.writeInt32LE(height, 22);
  out.writeUInt16LE(1, 26);
  out.writeUInt16LE(24, 28);
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [red, green, blue] = bytes.subarray((y * width + x) * 4);
      out.set([blue, green, red], 54 + (height - 1 - y) * stride + x * 3);
    }
  }
  return out;
}

/** A DDS of BC1 blocks, each with the colours of two of its pixels. */
export function dds({ width, height, bytes }) {
  const head = Buffer.alloc(128);
  head.write('DDS ', 0, 'latin1');
  [124, 0x1007, height, width].forEach((number, index) => head.writeUInt32LE(number, 4 + index * 4));
  head.writeUInt32LE(32, 76);
  head.writeUInt32LE(4, 80);
  head.write('DXT1', 84, 'latin1');
  head.writeUInt32LE(0x1000, 108);
  const short = (x, y) => {
    const [red, green, blue] = bytes.subarray((y * width + x) * 4);
    return red >> 3 << 11 | green >> 2 << 5 | blue >> 3;
  };
  const blocks = Buffer.alloc(width * height / 2);
  for (let y = 0, at = 0; y < height; y += 4) {
    for (let x = 0; x < width; x += 4, at += 8) {
      let [first, second, low] = [short(x, y), short(x + 3, y + 3), 0];
      // The order of the two means four colours, not three and none.
      if (first < second) [first, second, low] = [second, first, 0xff];
      blocks.writeUInt16LE(first, at);
      blocks.writeUInt16LE(second, at + 2);
      // The left half has the first colour, the right half the second.
      blocks.fill(low ^ (first === second ? 0 : 0x50), at + 4, at + 8);
    }
  }
  return Buffer.concat([head, blocks]);
}

/** A sphere, whose poles are above and below. */
function sphere([x, y, z], radius) {
  const shape = { positions: [], normals: [], coordinates: [], triangles: [] };
  const [around, down] = [24, 12];
  for (let row = 0; row <= down; row++) {
    for (let column = 0; column <= around; column++) {
      const [angle, fall] = [column / around * 2 * Math.PI, row / down * Math.PI];
      const normal = [Math.cos(angle) * Math.sin(fall), Math.sin(angle) * Math.sin(fall), Math.cos(fall)];
      shape.normals.push(normal);
      shape.positions.push([x + radius * normal[0], y + radius * normal[1], z + radius * normal[2]]);
      shape.coordinates.push([column / around, row / down]);
      if (row < down && column < around) {
        const [a, b] = [row * (around + 1) + column, (row + 1) * (around + 1) + column];
        shape.triangles.push([a, a + 1, b], [a + 1, b + 1, b]);
      }
    }
  }
  return shape;
}

/** A box, with the whole image on each side. */
function box([x, y, z], half) {
  const shape = { positions: [], normals: [], coordinates: [], triangles: [] };
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      const first = shape.positions.length;
      for (const [a, b] of [[-1, -1], [1, -1], [1, 1], [-1, 1]]) {
        const corner = [0, 0, 0];
        corner[axis] = side;
        const normal = [...corner];
        corner[(axis + 1) % 3] = a;
        corner[(axis + 2) % 3] = b;
        shape.positions.push([x + half * corner[0], y + half * corner[1], z + half * corner[2]]);
        shape.normals.push(normal);
        shape.coordinates.push([(a + 1) / 2, (1 - b) / 2]);
      }
      const corners = side > 0 ? [[0, 2, 1], [0, 3, 2]] : [[0, 1, 2], [0, 2, 3]];
      shape.triangles.push(...corners.map(corners => corners.map(corner => first + corner)));
    }
  }
  return shape;
}

/** Two upright sheets that cross each other, as bushes in games are. */
function cross() {
  const shape = { positions: [], normals: [], coordinates: [], triangles: [] };
  for (const [dx, dy] of [[1, 0.3], [-0.3, 1]]) {
    const first = shape.positions.length;
    for (const [a, b] of [[-1, 0], [1, 0], [1, 1], [-1, 1]]) {
      shape.positions.push([a * dx, a * dy, b * 1.6]);
      shape.normals.push([dy, -dx, 0]);
      shape.coordinates.push([(a + 1) / 2, 1 - b]);
    }
    shape.triangles.push([first, first + 2, first + 1], [first, first + 3, first + 2]);
  }
  return shape;
}

/** The same shape with texture coordinates that leave the image. */
function repeated(shape, times, from) {
  return { ...shape, coordinates: shape.coordinates.map(([u, v]) => [u * times + from, v * times + from]) };
}

/** The same shape with a colour for each vertex, from its place. */
function colored(shape) {
  return { ...shape, colors: shape.normals.map(normal => [...normal.map(number => Math.round(127 + 100 * number)), 255]) };
}

/** An IQM file of shapes, each with the name of its material. */
export function iqm(meshes) {
  const texts = ['', ...meshes.flatMap(({ material }, index) => [`mesh_${index}`, material])];
  const starts = [];
  let text = Buffer.alloc(0);
  for (const part of texts) {
    starts.push(text.length);
    text = Buffer.concat([text, Buffer.from(`${part}\0`, 'utf8')]);
  }
  text = Buffer.concat([text, Buffer.alloc(-text.length & 3)]);
  const all = name => meshes.flatMap(({ shape }) => shape[name]);
  const floats = rows => Buffer.from(new Float32Array(rows.flat()).buffer);
  // The type, the format and the components of each: positions, coordinates, normals, colours.
  const arrays = [
    { head: [0, 0, 7, 3], bytes: floats(all('positions')) },
    { head: [1, 0, 7, 2], bytes: floats(all('coordinates')) },
    { head: [2, 0, 7, 3], bytes: floats(all('normals')) },
  ];
  if (meshes[0].shape.colors) arrays.push({ head: [6, 0, 1, 4], bytes: Buffer.from(all('colors').flat()) });
  const numbers = [];
  const triangles = [];
  let [vertex, triangle] = [0, 0];
  meshes.forEach(({ shape }, index) => {
    const counts = [shape.positions.length, shape.triangles.length];
    numbers.push(starts[1 + 2 * index], starts[2 + 2 * index], vertex, counts[0], triangle, counts[1]);
    for (const corners of shape.triangles) triangles.push(...corners.map(corner => corner + vertex));
    vertex += counts[0];
    triangle += counts[1];
  });
  const words = numbers => Buffer.from(new Uint32Array(numbers).buffer);
  const ofMeshes = 124 + text.length;
  const ofArrays = ofMeshes + meshes.length * 24;
  let at = ofArrays + arrays.length * 20;
  const heads = [];
  for (const { head, bytes } of arrays) {
    heads.push(...head, at);
    at += bytes.length;
  }
  const header = new Array(27).fill(0);
  header.splice(0, 2, 2, at + triangle * 12);
  header.splice(3, 9, text.length, 124, meshes.length, ofMeshes, arrays.length, vertex, ofArrays, triangle, at);
  return Buffer.concat([Buffer.from('INTERQUAKEMODEL\0', 'latin1'), words(header), text, words(numbers), words(heads),
    ...arrays.map(({ bytes }) => bytes), words(triangles)]);
}

const O = [0, 0, 0];

/** Makes the folder. `encoders` may have `jpeg` and `webp`. Returns the number of images of each model. */
export async function makeGame(folder, encoders = {}) {
  const write = (path, bytes) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), bytes);
  };
  const image = (color, width = 64, height = 64) => painted(width, height, color);
  const models = [];
  const model = (name, ...meshes) => models.push({ name, meshes });
  const one = (name, material, shape = sphere(O, 1)) => model(name, { material, shape });

  // TGA: plain and compressed, of 24 and of 32 bits, from below and from above.
  write('textures/props/crate.tga', tga(image(marked(200, 120, 40))));
  one('crate', 'textures/props/crate.tga', box(O, 1));
  write('textures/props/barrel.tga', tga(image(marked(90, 140, 200)), { isCompressed: true }));
  one('barrel', 'Textures/Props/Barrel.TGA');
  write('textures/props/Wall.TGA', tga(image(marked(150, 150, 150)), { bits: 32, isFromAbove: true }));
  one('wall', 'textures/props/wall', box(O, 1));
  write('textures/doors/door.tga', tga(image(marked(120, 60, 160)), { bits: 32, isCompressed: true }));
  one('door', 'C:\\Projects\\Game\\textures\\doors\\door.tga', box(O, 1));
  write('textures/doors/gate.tga', tga(image(marked(60, 160, 90)), { isCompressed: true, isFromAbove: true }));
  one('gate', '..\\..\\textures\\doors\\gate.tga');
  // Alpha is 0 everywhere: the channel is not used.
  write('textures/props/unused.tga', tga(painted(64, 64, (u, v) => [...marked(210, 90, 90)(u, v).slice(0, 3), 0]), { bits: 32 }));
  one('unused', 'unused.tga');
  write('textures/foliage/bush.tga', tga(image(leaves, 128, 128), { bits: 32 }));
  one('bush', 'textures/foliage/bush', cross());
  write('textures/effects/glass.tga', tga(image(glass), { bits: 32, isCompressed: true }));
  one('glass', 'D:/art/effects/glass.tga');

  // Other kinds, and names that do not have the ending of the file.
  write('textures/props/statue.png', png(image(marked(180, 180, 140))));
  one('statue', 'textures/props/statue.tga');
  write('textures/props/Sign.PNG', png(image(marked(40, 90, 220))));
  one('sign', 'sign.png.001', box(O, 1));
  write('textures/props/lamp.bmp', bmp(image(marked(220, 200, 120), 62, 50)));
  one('lamp', 'lamp');
  write('textures/props/chest.dds', dds(image(marked(150, 90, 50))));
  one('chest', 'textures/props/chest.dds', box(O, 1));
  write('textures/props/narrow.png', png(image(marked(100, 200, 200), 128, 16)));
  one('narrow', 'narrow');
  write('textures/props/with space ä.png', png(image(marked(200, 100, 200))));
  one('space', 'textures/props/with space ä.png');

  // Coordinates outside the image, and an image much larger than its picture.
  one('repeated', 'textures/props/crate', repeated(box(O, 1), 3, -1.3));
  write('textures/props/large.png', png(image(marked(160, 200, 80), 1024, 1024)));
  one('large', 'large.png', repeated(sphere(O, 1), 2, 0));

  // Colours of vertices, with an image and without; several images; a mask and a blend in front of what is solid.
  one('tinted', 'textures/props/statue', colored(sphere(O, 1)));
  one('painted', '', colored(sphere(O, 1)));
  model('two', { material: 'crate', shape: box([-1.2, 0, 0], 1) }, { material: 'barrel', shape: sphere([1.2, 0, 0], 1) });
  model('greenhouse', { material: 'crate', shape: box(O, 0.5) }, { material: 'bush', shape: cross() },
    { material: 'glass', shape: sphere([0, 0, 0.5], 2.2) });

  if (encoders.jpeg) {
    write('textures/photos/rock.jpg', await encoders.jpeg(image(marked(130, 120, 110), 100, 90)));
    one('rock', 'textures/photos/rock.jpg');
    write('textures/photos/Sand.JPEG', await encoders.jpeg(image(marked(220, 190, 120))));
    one('sand', 'textures/photos/sand', box(O, 1));
  }
  if (encoders.webp) {
    write('textures/photos/moss.webp', await encoders.webp(image(marked(80, 130, 60))));
    one('moss', 'textures/photos/moss.tga');
  }
  const images = new Map();
  for (const { name, meshes } of models) {
    write(`models/props/${name}.iqm`, iqm(meshes));
    images.set(`${name}.iqm`, meshes.filter(({ material }) => material !== '').length);
  }
  return images;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  console.log(`${(await makeGame(process.argv[2])).size} models`);
}
