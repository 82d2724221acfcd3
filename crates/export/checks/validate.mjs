// Validates all glTF files below a folder with Khronos' validator: no error and no warning may be left.
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const validator = createRequire(import.meta.url)('gltf-validator');
const folder = process.argv[2];
const names = readdirSync(folder, { recursive: true }).filter(name => /\.(glb|gltf)$/.test(name));
let wrong = 0;
for (const name of names) {
  const bytes = new Uint8Array(readFileSync(join(folder, name)));
  const part = uri => Promise.resolve(new Uint8Array(readFileSync(join(folder, dirname(name), decodeURIComponent(uri)))));
  const { issues } = await validator.validateBytes(bytes, { maxIssues: 20, externalResourceFunction: part });
  if (issues.numErrors + issues.numWarnings === 0) continue;
  wrong++;
  for (const { severity, code, message, pointer } of issues.messages.filter(issue => issue.severity < 2)) {
    console.log(`${name}: ${severity === 0 ? 'error' : 'warning'} ${code}: ${message} (${pointer})`);
  }
}
console.log(`glTF-Validator: ${names.length} files, ${wrong} with errors or warnings`);
process.exit(wrong > 0 || names.length === 0 ? 1 : 0);
