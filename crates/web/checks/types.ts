// Statements that have to compile, and one that must not: TypeScript with the library of 2022.
import { open } from '../pkg/index.js';
import { MeshmapLoader, MeshmapObject } from '../pkg/three.js';

export const object: MeshmapObject = await new MeshmapLoader().setOptions({ ahead: 4, level: 'lowest_lod' }).loadAsync('a.cgeo');
export const positions: Float32Array | undefined = (await (await open('a.cgeo')).moment(0, 3, { attributes: ['position'] }))?.positions;
// @ts-expect-error: the loader makes an object.
export const number: number = await new MeshmapLoader().loadAsync('a.cgeo');
