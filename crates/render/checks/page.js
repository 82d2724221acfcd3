// Draws GLB files by three.js as `meshmap render` draws their sources: with its camera and its light, which are written here a second
// time. Images, colours of vertices, opacity and triangles come from GLTFLoader.
import {
  Camera, Color, DataUtils, Float32BufferAttribute, BufferGeometry, HalfFloatType, LessDepth, LinearSRGBColorSpace, Mesh,
  NearestFilter, NoBlending, NormalBlending, Scene, ShaderMaterial, Vector3, WebGLRenderer, WebGLRenderTarget,
} from 'three';
import { GLTFLoader } from 'three/addons/loaders/GLTFLoader.js';

// Right, up, and to the viewer, in coordinates whose y points up and whose z points to the front.
const [CA, SA, CE, SE] = [15 / 17, 8 / 17, 12 / 13, 5 / 13];
const VIEWS = {
  'three-quarter': [[CA, 0, -SA], [-SA * SE, CE, -CA * SE], [SA * CE, SE, CA * CE]],
  front: [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  side: [[0, 0, -1], [0, 1, 0], [1, 0, 0]],
  top: [[1, 0, 0], [0, 0, -1], [0, 1, 0]],
};
const TANGENT = 0.268;
const FILLED = 0.9;
const CREASE = 0.7;
/** The colour of `--mode clay`. */
const CLAY = 0xc9c4bc;

const LIGHT = `
  const vec3 SKY = vec3(0.3, 0.31, 0.33);
  const vec3 FLOOR = vec3(0.13, 0.125, 0.12);
  void lamp(inout vec3 light, inout float shine, vec3 normal, vec3 to, vec3 color, float gloss) {
    float facing = max((dot(normal, to) + 0.25) / 1.25, 0.0);
    light += color * facing * (0.4 + 0.6 * facing);
    float mirrored = max(dot(normal, normalize(to + vec3(0.0, 0.0, 1.0))), 0.0);
    shine += gloss * pow(mirrored, 24.0);
  }
  vec3 lit(vec3 base, vec3 normal) {
    vec3 light = mix(FLOOR, SKY, normal.y * 0.5 + 0.5);
    float shine = 0.0;
    lamp(light, shine, normal, vec3(-0.48, 0.64, 0.6), vec3(0.66, 0.64, 0.6), 0.16);
    lamp(light, shine, normal, vec3(0.8, 0.0, 0.6), vec3(0.2, 0.22, 0.26), 0.05);
    lamp(light, shine, normal, vec3(0.36, 0.48, -0.8), vec3(0.2, 0.2, 0.2), 0.0);
    return base * light + shine;
  }
`;
const VERTEX = `
  attribute vec3 face;
  attribute vec4 tint;
  attribute vec4 mark;
  uniform float shift;
  varying vec3 vPoint, vNormal, vFace, vMark;
  varying vec2 vPlace;
  varying vec4 vTint;
  void main() {
    vMark = mark.rgb;
    vPoint = position;
    vNormal = normal;
    vFace = face;
    vPlace = uv;
    vTint = tint;
    gl_Position = projectionMatrix * vec4(position, 1.0);
    // Moves each triangle a little to the front or to the back.
    gl_Position.z += shift * mark.a * gl_Position.w;
  }
`;
const FRAGMENT = `
  uniform sampler2D image;
  uniform vec4 base;
  uniform float cutoff;
  uniform bool hasImage, isBlended, marks, isMarked;
  varying vec3 vPoint, vNormal, vFace, vMark;
  varying vec2 vPlace;
  varying vec4 vTint;
  ${LIGHT}
  void main() {
    vec4 color = base * vTint;
    if (hasImage) color *= texture2D(image, vPlace);
    if (cutoff > 0.0 && color.a < cutoff) discard;
    vec3 face = dot(vFace, vPoint) > 0.0 ? -vFace : vFace;
    vec3 normal = dot(vNormal, vNormal) > 0.0 ? normalize(vNormal) : face;
    if (dot(normal, face) < -0.0001) normal = -normal;
    gl_FragColor = marks ? vec4(vMark, isMarked ? 1.0 : 0.5) : vec4(lit(color.rgb, normal), isBlended ? color.a : 1.0);
  }
`;

const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = vector => {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 && Number.isFinite(length) ? vector.map(number => number / length) : [0, 0, 0];
};

/** The corners of the triangles of a mesh of three.js at rest, upright. */
function partOf(mesh, group) {
  const { geometry, material } = mesh;
  const { position, normal, color } = geometry.attributes;
  const count = geometry.index ? geometry.index.count : position.count;
  const corner = at => geometry.index ? geometry.index.getX(at) : at;
  const vector = new Vector3();
  const placed = (index, offset) => {
    vector.fromBufferAttribute(position, index);
    if (offset) vector.add(offset);
    if (mesh.isSkinnedMesh) mesh.applyBoneTransform(index, vector);
    return vector.applyMatrix4(mesh.matrixWorld).toArray();
  };
  const coordinates = geometry.attributes[['uv', 'uv1', 'uv2', 'uv3'][material.map?.channel ?? 0]];
  const part = { group, material, points: [], normals: [], keys: [], coordinates: [], colors: [], hasNormals: Boolean(normal) };
  part.hasColors = Boolean(color) && material.vertexColors;
  for (let at = 0; at + 3 <= count; at += 3) {
    for (const index of [corner(at), corner(at + 1), corner(at + 2)]) {
      const point = placed(index);
      part.points.push(point);
      part.keys.push([position.getX(index) + 0, position.getY(index) + 0, position.getZ(index) + 0].join());
      let along = [0, 0, 0];
      if (normal) along = unit(sub(placed(index, new Vector3().fromBufferAttribute(normal, index)), point));
      part.normals.push(along);
      part.coordinates.push(coordinates ? [coordinates.getX(index), coordinates.getY(index)] : [0, 0]);
      const own = part.hasColors;
      part.colors.push(own ? [color.getX(index), color.getY(index), color.getZ(index), color.itemSize > 3 ? color.getW(index) : 1] : [1, 1, 1, 1]);
    }
  }
  return part;
}

/** Computes missing normals: means by area around each place, except where a triangle has an edge. */
function complete(parts) {
  const sums = new Map();
  const missing = parts.filter(part => !part.hasNormals);
  for (const { group, keys, faces } of missing) {
    keys.forEach((key, at) => {
      const place = `${group} ${key}`;
      const sum = sums.get(place) ?? [0, 0, 0];
      sums.set(place, sum.map((number, axis) => number + faces[at][axis]));
    });
  }
  for (const part of missing) {
    part.normals = part.keys.map((key, at) => {
      const [mean, face] = [unit(sums.get(`${part.group} ${key}`)), unit(part.faces[at])];
      return dot(mean, face) < CREASE ? face : mean;
    });
  }
}

/** The camera that `camera.rs` finds: places points as they are seen from the eye. */
function cameraOf(points, rows) {
  const seen = point => rows.map(row => dot(row, point));
  let [right, left, top, bottom] = [-Infinity, -Infinity, -Infinity, -Infinity];
  const [least, greatest] = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (const point of points) {
    const [x, y, z] = seen(point);
    right = Math.max(right, x + z * TANGENT);
    left = Math.max(left, z * TANGENT - x);
    top = Math.max(top, y + z * TANGENT);
    bottom = Math.max(bottom, z * TANGENT - y);
    [x, y, z].forEach((number, axis) => {
      least[axis] = Math.min(least[axis], number);
      greatest[axis] = Math.max(greatest[axis], number);
    });
  }
  const sides = sub(greatest, least);
  const radius = Math.sqrt(dot(sides, sides)) / 2 || 1;
  const away = Math.max(greatest[2] + radius / 2, (right + left) / (2 * TANGENT), (top + bottom) / (2 * TANGENT));
  const eye = [(right - left) / 2, (top - bottom) / 2, away];
  return {
    point: point => sub(seen(point), eye).map(number => number / radius),
    direction: seen,
    nearest: (away - greatest[2]) / radius,
    farthest: (away - least[2]) / radius,
  };
}

function geometryOf(part, view) {
  const places = part.points.map(view.point);
  const triangles = [];
  for (let first = 0; first < places.length; first += 3) {
    triangles.push({ first, far: places[first][2] + places[first + 1][2] + places[first + 2][2] });
  }
  // Transparent triangles are drawn from the farthest on.
  if (part.material.transparent) triangles.sort((a, b) => a.far - b.far);
  const order = triangles.flatMap(({ first }) => [first, first + 1, first + 2]);
  const geometry = new BufferGeometry();
  const add = (name, rows, size) => geometry.setAttribute(name, new Float32BufferAttribute(order.flatMap(at => rows[at]), size));
  add('position', places, 3);
  add('normal', part.normals.map(view.direction), 3);
  add('face', part.faces.map(face => unit(view.direction(unit(face)))), 3);
  const { map } = part.material;
  if (map?.matrixAutoUpdate) map.updateMatrix();
  const at = ([u, v]) => {
    if (!map) return [u, v];
    const turned = new Vector3(u, v, 1).applyMatrix3(map.matrix);
    return [turned.x, turned.y];
  };
  add('uv', part.coordinates.map(at), 2);
  add('tint', part.colors, 4);
  // A number for each triangle, and a way to the front or to the back.
  const mark = number => [number % 16 / 16, (number >> 4) % 16 / 16, (number >> 8) % 16 / 16, (number * 0x9e3779b1 >>> 0) / 2 ** 31 - 1];
  add('mark', part.points.map((_, at) => mark(part.first + Math.floor(at / 3))), 4);
  geometry.far = triangles.reduce((sum, { far }) => sum + far, 0) / triangles.length;
  return geometry;
}

function shadedAs(part, isClay) {
  const { material } = part;
  const base = isClay ? new Color(CLAY) : material.color;
  return new ShaderMaterial({
    vertexShader: VERTEX,
    fragmentShader: FRAGMENT,
    side: material.side,
    forceSinglePass: true,
    transparent: material.transparent,
    // The first of two triangles in one place is seen in our pictures.
    depthFunc: LessDepth,
    depthWrite: material.depthWrite,
    blending: NormalBlending,
    uniforms: {
      image: { value: material.map },
      base: { value: [base.r, base.g, base.b, isClay ? 1 : material.opacity] },
      cutoff: { value: material.alphaTest },
      hasImage: { value: Boolean(material.map) && !isClay },
      isBlended: { value: material.transparent },
      marks: { value: false },
      shift: { value: 0 },
      isMarked: { value: isClay || Boolean(material.map) || part.hasColors },
    },
  });
}

let renderer = null;

function pixelsOf(scene, camera, size) {
  const target = new WebGLRenderTarget(size, size, { type: HalfFloatType, minFilter: NearestFilter, magFilter: NearestFilter, colorSpace: LinearSRGBColorSpace });
  renderer.setRenderTarget(target);
  renderer.setClearColor(0, 0);
  renderer.clear();
  renderer.render(scene, camera);
  const halves = new Uint16Array(size * size * 4);
  renderer.readRenderTargetPixels(target, 0, 0, size, size, halves);
  target.dispose();
  const numbers = new Float32Array(halves.length);
  // The lower row comes first.
  for (let y = 0; y < size; y++) {
    for (let at = 0; at < size * 4; at++) numbers[y * size * 4 + at] = DataUtils.fromHalfFloat(halves[(size - 1 - y) * size * 4 + at]);
  }
  return numbers;
}

/** Loads a GLB; returns what the picture of its source needs to be like. */
async function load(address) {
  const bytes = await (await fetch(address)).arrayBuffer();
  const gltf = await new GLTFLoader().parseAsync(bytes, '');
  gltf.scene.updateMatrixWorld(true);
  const parts = [];
  gltf.scene.traverse(node => {
    if (node.isMesh) parts.push(partOf(node, gltf.parser.associations.get(node)?.meshes));
  });
  for (const part of parts) {
    part.faces = part.points.map((_, at) => {
      const [a, b, c] = part.points.slice(at - at % 3, at - at % 3 + 3);
      return cross(sub(b, a), sub(c, a));
    });
  }
  complete(parts);
  let first = 0;
  for (const part of parts) {
    part.first = first;
    first += part.points.length / 3;
  }
  return parts.filter(part => part.points.length > 0);
}

const encoded = light => {
  const x = Math.min(Math.max(light, 0), 1);
  return 255 * (x <= 0.0031308 ? x * 12.92 : 1.055 * x ** (1 / 2.4) - 0.055);
};
const decoded = byte => {
  const x = byte / 255;
  return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4;
};
/** The share of the depth in which triangles are in one place. */
const NEAR = 2e-4;
/** The light behind transparent surfaces. */
const GROUND = 0.2;

async function ours(address, size) {
  const blob = await (await fetch(address)).blob();
  const image = await createImageBitmap(blob, { premultiplyAlpha: 'none', colorSpaceConversion: 'none' });
  if (image.width !== size || image.height !== size) throw new Error('the size of the picture');
  const gl = document.createElement('canvas').getContext('webgl2');
  // A canvas would multiply by the opacity.
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  gl.pixelStorei(gl.UNPACK_PREMULTIPLY_ALPHA_WEBGL, false);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA8, gl.RGBA, gl.UNSIGNED_BYTE, image);
  gl.bindFramebuffer(gl.FRAMEBUFFER, gl.createFramebuffer());
  gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
  const bytes = new Uint8Array(size * size * 4);
  gl.readPixels(0, 0, size, size, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
  gl.getExtension('WEBGL_lose_context')?.loseContext();
  return bytes;
}

let parts = [];
const tiles = [];

/** Opens a GLB. `isPlain` is true if no surface has an image or colours: then clay is compared. */
globalThis.open = async address => {
  parts = await load(address);
  const isPlain = parts.every(({ material, hasColors }) => !material.map && !hasColors);
  return { isPlain, triangles: parts.reduce((sum, { points }) => sum + points.length / 3, 0), images: new Set(parts.map(({ material }) => material.map).filter(Boolean)).size };
};

/** Draws the open GLB and compares it with a picture, which has no background. */
globalThis.compare = async (address, { name, size, view, isClay }) => {
  renderer ??= new WebGLRenderer({ antialias: false, alpha: true });
  const seen = cameraOf(parts.flatMap(({ points }) => points), VIEWS[view]);
  const camera = new Camera();
  const [focal, near, far] = [FILLED / TANGENT, seen.nearest * 0.99, seen.farthest * 1.01];
  camera.projectionMatrix.set(focal, 0, 0, 0, 0, focal, 0, 0, 0, 0, -(far + near) / (far - near), -2 * far * near / (far - near), 0, 0, -1, 0);
  camera.projectionMatrixInverse.copy(camera.projectionMatrix).invert();
  const scene = new Scene();
  for (const part of parts) {
    const mesh = new Mesh(geometryOf(part, seen), shadedAs(part, isClay));
    mesh.frustumCulled = false;
    mesh.renderOrder = mesh.geometry.far;
    scene.add(mesh);
  }
  const theirs = pixelsOf(scene, camera, size);
  // The triangles at each pixel, which are not decided where they change if each is moved by little.
  const marks = [1, -1].map(way => {
    for (const { material } of scene.children) {
      material.uniforms.marks.value = true;
      material.uniforms.shift.value = way * NEAR;
      material.blending = NoBlending;
    }
    return pixelsOf(scene, camera, size);
  });
  const isSame = at => [0, 1, 2, 3].every(channel => marks[0][at + channel] === marks[1][at + channel]);
  const isCompared = at => bytes[at + 3] > 0 && theirs[at + 3] > 0 && isSame(at) && marks[0][at + 3] === 1;
  for (const { geometry, material } of scene.children) {
    geometry.dispose();
    material.dispose();
  }
  const bytes = await ours(address, size);
  const pictures = [new ImageData(size, size), new ImageData(size, size), new ImageData(size, size)];
  let [sum, both, either, most] = [0, 0, 0, 0];
  for (let at = 0; at < bytes.length; at += 4) {
    const [share, covered] = [bytes[at + 3] / 255, theirs[at + 3]];
    for (const picture of pictures) picture.data[at + 3] = 255;
    let largest = 0;
    for (let channel = 0; channel < 3; channel++) {
      const mine = share === 1 ? bytes[at + channel] : encoded(decoded(bytes[at + channel]) * share + GROUND * (1 - share));
      const other = encoded(theirs[at + channel] + GROUND * (1 - covered));
      pictures[0].data[at + channel] = Math.round(mine);
      pictures[1].data[at + channel] = Math.round(other);
      if (isCompared(at)) {
        sum += Math.abs(mine - other);
        largest = Math.max(largest, Math.abs(mine - other));
      }
    }
    either += share > 0 || covered > 0 ? 1 : 0;
    both += share > 0 && covered > 0 ? 1 : 0;
    most = Math.max(most, largest);
    // Black where equal, white from a difference of 25 on; blue where only one of them has the model.
    pictures[2].data.fill(Math.min(255, largest * 10), at, at + 3);
    if ((share > 0) !== (covered > 0)) pictures[2].data[at + 2] = 255;
  }
  let compared = 0;
  for (let at = 0; at < bytes.length; at += 4) compared += isCompared(at) ? 1 : 0;
  tiles.push({ name, pictures });
  return { mean: compared ? sum / compared / 3 : 0, most, compared, both, shared: either ? both / either : 1 };
};

/** A contact sheet of one kind of picture, as an address of data. */
globalThis.sheet = (kind, columns = 10) => {
  const size = tiles[0].pictures[0].width;
  const canvas = document.createElement('canvas');
  canvas.width = columns * size;
  canvas.height = Math.ceil(tiles.length / columns) * (size + 16);
  const context = canvas.getContext('2d');
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = '#000';
  context.font = '11px sans-serif';
  tiles.forEach(({ name, pictures }, index) => {
    const [x, y] = [index % columns * size, Math.floor(index / columns) * (size + 16)];
    context.putImageData(pictures[kind], x, y);
    context.fillText(name.slice(-Math.floor(size / 6)), x + 2, y + size + 12, size - 4);
  });
  return canvas.toDataURL('image/png');
};

/** Encodes an image of red, green, blue and alpha bytes. */
globalThis.encode = async ({ width, height, bytes }, kind) => {
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [width, height];
  canvas.getContext('2d').putImageData(new ImageData(new Uint8ClampedArray(bytes), width, height), 0, 0);
  return canvas.toDataURL(kind, 0.9);
};
