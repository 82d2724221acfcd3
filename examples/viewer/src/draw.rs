//! Draws meshes to a picture in memory.

use std::error::Error;

use meshmap::VertexLayout;
use wgpu::{
    BufferUsages, Color, Device, LoadOp, Operations, Queue, StoreOp, TextureFormat, TextureUsages,
    TextureView,
};

use crate::camera::Camera;
use crate::formats::attributes;
use crate::load::Mesh;

const COLOUR: TextureFormat = TextureFormat::Rgba8UnormSrgb;
const DEPTH: TextureFormat = TextureFormat::Depth32Float;
const BACKGROUND: Color = Color {
    r: 0.02,
    g: 0.02,
    b: 0.025,
    a: 1.0,
};

/// The adapter that draws, and its name.
pub struct Gpu {
    pub device: Device,
    queue: Queue,
    pub name: String,
}

impl Gpu {
    /// The machine's GPU, or a driver that draws in software.
    pub fn open() -> Result<Self, Box<dyn Error>> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
        let adapter =
            pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))?;
        let (device, queue) =
            pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
                required_limits: adapter.limits(), // large models need large buffers
                ..Default::default()
            }))?;
        Ok(Self {
            device,
            queue,
            name: adapter.get_info().name,
        })
    }

    /// Draws meshes with a layout of positions and normals. Returns red, green, blue and alpha of each pixel.
    pub fn draw(
        &self,
        meshes: &[Mesh],
        layout: &VertexLayout,
        camera: &Camera,
        size: [u32; 2],
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        let most = self.device.limits().max_texture_dimension_2d;
        if !size.iter().all(|side| (1..=most).contains(side)) {
            return Err(format!("a picture has 1 to {most} pixels on a side, not {size:?}").into());
        }
        let pipeline = self.pipeline(layout)?;
        let uniforms = self.buffer(
            camera.bytes().len() as u64,
            BufferUsages::UNIFORM | BufferUsages::COPY_DST,
        );
        self.queue.write_buffer(&uniforms, 0, &camera.bytes());
        let bindings = self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: uniforms.as_entire_binding(),
            }],
        });
        let colour = self.texture(
            size,
            COLOUR,
            TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC,
        );
        let depth = self.texture(size, DEPTH, TextureUsages::RENDER_ATTACHMENT);

        let mut commands = self.device.create_command_encoder(&Default::default());
        let mut pass = commands.begin_render_pass(&wgpu::RenderPassDescriptor {
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view: &view(&colour),
                depth_slice: None,
                resolve_target: None,
                ops: Operations {
                    load: LoadOp::Clear(BACKGROUND),
                    store: StoreOp::Store,
                },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &view(&depth),
                depth_ops: Some(Operations {
                    load: LoadOp::Clear(1.0),
                    store: StoreOp::Discard,
                }),
                stencil_ops: None,
            }),
            ..Default::default()
        });
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bindings, &[]);
        for mesh in meshes {
            pass.set_vertex_buffer(0, mesh.vertices.slice(..));
            pass.set_index_buffer(mesh.indices.slice(..), mesh.format);
            for (indices, material) in &mesh.draws {
                let instance = (*material).min(u32::MAX - 1);
                pass.draw_indexed(indices.clone(), 0, instance..instance + 1);
            }
        }
        drop(pass);
        self.read(commands, &colour)
    }

    fn pipeline(&self, layout: &VertexLayout) -> Result<wgpu::RenderPipeline, Box<dyn Error>> {
        let shader = self
            .device
            .create_shader_module(wgpu::include_wgsl!("draw.wgsl"));
        Ok(self
            .device
            .create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: None,
                layout: None,
                vertex: wgpu::VertexState {
                    module: &shader,
                    entry_point: None,
                    compilation_options: Default::default(),
                    buffers: &[Some(wgpu::VertexBufferLayout {
                        array_stride: layout.stride() as u64,
                        step_mode: wgpu::VertexStepMode::Vertex,
                        attributes: &attributes(layout)?,
                    })],
                },
                primitive: wgpu::PrimitiveState::default(), // lists of triangles; both sides are drawn
                depth_stencil: Some(wgpu::DepthStencilState {
                    format: DEPTH,
                    depth_write_enabled: Some(true),
                    depth_compare: Some(wgpu::CompareFunction::Less),
                    stencil: Default::default(),
                    bias: Default::default(),
                }),
                multisample: Default::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &shader,
                    entry_point: None,
                    compilation_options: Default::default(),
                    targets: &[Some(COLOUR.into())],
                }),
                multiview_mask: None,
                cache: None,
            }))
    }

    /// Runs the commands, then copies the picture to memory.
    fn read(
        &self,
        mut commands: wgpu::CommandEncoder,
        picture: &wgpu::Texture,
    ) -> Result<Vec<u8>, Box<dyn Error>> {
        let row = 4 * picture.width();
        let padded = row.next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let size = u64::from(padded) * u64::from(picture.height());
        let buffer = self.buffer(size, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
        let layout = wgpu::TexelCopyBufferLayout {
            offset: 0,
            bytes_per_row: Some(padded),
            rows_per_image: None,
        };
        commands.copy_texture_to_buffer(
            picture.as_image_copy(),
            wgpu::TexelCopyBufferInfo {
                buffer: &buffer,
                layout,
            },
            picture.size(),
        );
        self.queue.submit([commands.finish()]);
        buffer.map_async(wgpu::MapMode::Read, .., |_| {}); // what goes wrong, get_mapped_range says
        self.device.poll(wgpu::PollType::wait_indefinitely())?;
        let mapped = buffer.get_mapped_range(..)?;
        let rows = mapped.chunks_exact(padded as usize);
        Ok(rows
            .flat_map(|padded| &padded[..row as usize])
            .copied()
            .collect())
    }

    fn buffer(&self, size: u64, usage: BufferUsages) -> wgpu::Buffer {
        let descriptor = wgpu::BufferDescriptor {
            label: None,
            size,
            usage,
            mapped_at_creation: false,
        };
        self.device.create_buffer(&descriptor)
    }

    fn texture(
        &self,
        [width, height]: [u32; 2],
        format: TextureFormat,
        usage: TextureUsages,
    ) -> wgpu::Texture {
        self.device.create_texture(&wgpu::TextureDescriptor {
            label: None,
            size: wgpu::Extent3d {
                width,
                height,
                depth_or_array_layers: 1,
            },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage,
            view_formats: &[],
        })
    }
}

fn view(texture: &wgpu::Texture) -> TextureView {
    texture.create_view(&Default::default())
}
