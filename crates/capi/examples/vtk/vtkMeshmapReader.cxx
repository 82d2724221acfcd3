#include "vtkMeshmapReader.h"

#include <meshmap.hpp>

#include <vtkAppendPolyData.h>
#include <vtkCellArray.h>
#include <vtkFloatArray.h>
#include <vtkIdTypeArray.h>
#include <vtkInformation.h>
#include <vtkInformationVector.h>
#include <vtkNew.h>
#include <vtkObjectFactory.h>
#include <vtkPointData.h>
#include <vtkPoints.h>
#include <vtkPolyData.h>
#include <vtkStreamingDemandDrivenPipeline.h>

#include <vector>

vtkStandardNewMacro(vtkMeshmapReader);

namespace {

// An attribute of each vertex, as floats; null if the mesh does not have it.
vtkSmartPointer<vtkFloatArray> attribute(const meshmap::Mesh &mesh, mm_semantic semantic, std::uint32_t components) {
    const auto index = mesh.find(semantic);
    if (!index) {
        return nullptr;
    }
    const std::size_t vertices = mesh.info().vertex_count;
    auto values = vtkSmartPointer<vtkFloatArray>::New();
    values->SetNumberOfComponents(static_cast<int>(components));
    values->SetNumberOfTuples(static_cast<vtkIdType>(vertices));
    if (vertices > 0) {
        const meshmap::Buffer out(values->GetPointer(0), 0, vertices);
        meshmap::fill(out, mm_mesh_read_attribute, mesh, *index, MM_SCALAR_F32, components, 0);
    }
    return values;
}

vtkSmartPointer<vtkPolyData> poly_data(const meshmap::Mesh &mesh) {
    auto data = vtkSmartPointer<vtkPolyData>::New();
    vtkNew<vtkPoints> points;
    if (const auto positions = attribute(mesh, MM_SEMANTIC_POSITION, 3)) {
        points->SetData(positions);
    }
    data->SetPoints(points);
    const auto triangles = mesh.triangles();
    vtkNew<vtkIdTypeArray> corners;
    corners->SetNumberOfValues(static_cast<vtkIdType>(triangles.size() * 3));
    vtkIdType corner = 0;
    for (const auto &triangle : triangles) {
        for (const std::uint32_t index : triangle) {
            corners->SetValue(corner++, index);
        }
    }
    vtkNew<vtkCellArray> cells;
    cells->SetData(3, corners);
    data->SetPolys(cells);
    if (const auto normals = attribute(mesh, MM_SEMANTIC_NORMAL, 3)) {
        normals->SetName("Normals");
        data->GetPointData()->SetNormals(normals);
    }
    if (const auto coordinates = attribute(mesh, MM_SEMANTIC_TEXCOORD, 2)) {
        coordinates->SetName("TCoords");
        data->GetPointData()->SetTCoords(coordinates);
    }
    return data;
}

// The addresses of the meshes to read: the snapshot at a time, or the meshes that a viewer draws by default.
std::vector<std::string> addresses(const meshmap::File &file, const double *seconds) {
    if (file.format() == MM_FORMAT_CGEO && seconds != nullptr) {
        const auto proxy = meshmap::Proxy::of(file.share());
        if (proxy.timing()) {
            if (const auto key = meshmap::find<mm_cgeo_key>(mm_cgeo_key_at, proxy, nullptr, *seconds, MM_WRAP_CLAMP)) {
                return {"snapshots[" + std::to_string(key->from) + "]"};
            }
        }
    }
    std::vector<std::string> drawn;
    const auto meshes = file.meshes();
    for (std::size_t i = 0; i < meshes.size(); ++i) {
        const auto entry = meshes.at(i);
        if (entry.is_drawn_by_default) {
            drawn.emplace_back(entry.address);
        }
    }
    return drawn;
}

} // namespace

vtkMeshmapReader::vtkMeshmapReader() { this->SetNumberOfInputPorts(0); }

void vtkMeshmapReader::PrintSelf(ostream &os, vtkIndent indent) {
    this->Superclass::PrintSelf(os, indent);
    os << indent << "FileName: " << this->FileName << "\n";
}

void vtkMeshmapReader::SetFileName(const std::string &name) {
    if (name != this->FileName) {
        this->FileName = name;
        this->Modified();
    }
}

bool vtkMeshmapReader::CanReadFile(const std::string &name) {
    try {
        meshmap::File::open(name);
        return true;
    } catch (const meshmap::Error &error) {
        return error.status() != MM_ERROR_UNKNOWN_FORMAT && error.status() != MM_ERROR_IO;
    }
}

int vtkMeshmapReader::RequestInformation(vtkInformation *, vtkInformationVector **, vtkInformationVector *out) {
    try {
        const auto file = meshmap::File::open(this->FileName);
        vtkInformation *info = out->GetInformationObject(0);
        if (file.format() != MM_FORMAT_CGEO) {
            return 1;
        }
        const auto proxy = meshmap::Proxy::of(file.share());
        if (!proxy.timing() || proxy.size() == 0) {
            return 1;
        }
        std::vector<double> steps;
        for (std::size_t i = 0; i < proxy.size(); ++i) {
            steps.push_back(meshmap::call<double>(mm_cgeo_time_of, proxy, nullptr, i));
        }
        const double range[] = {steps.front(), steps.back()};
        info->Set(vtkStreamingDemandDrivenPipeline::TIME_STEPS(), steps.data(), static_cast<int>(steps.size()));
        info->Set(vtkStreamingDemandDrivenPipeline::TIME_RANGE(), range, 2);
        return 1;
    } catch (const meshmap::Error &error) {
        vtkErrorMacro(<< error.what());
        return 0;
    }
}

int vtkMeshmapReader::RequestData(vtkInformation *, vtkInformationVector **, vtkInformationVector *out) {
    try {
        vtkInformation *info = out->GetInformationObject(0);
        auto *const time = vtkStreamingDemandDrivenPipeline::UPDATE_TIME_STEP();
        const double seconds = info->Has(time) ? info->Get(time) : 0;
        const auto file = meshmap::File::map(this->FileName);
        vtkNew<vtkAppendPolyData> all;
        for (const auto &address : addresses(file, info->Has(time) ? &seconds : nullptr)) {
            all->AddInputData(poly_data(file.mesh(address)));
        }
        if (all->GetNumberOfInputConnections(0) > 0) {
            all->Update();
            vtkPolyData::GetData(out)->ShallowCopy(all->GetOutput());
        }
        return 1;
    } catch (const meshmap::Error &error) {
        vtkErrorMacro(<< error.what());
        return 0;
    }
}
