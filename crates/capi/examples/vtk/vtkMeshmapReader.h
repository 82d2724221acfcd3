// A VTK reader of CGeo, IQM, OpenCTM, Second Life mesh and TMF, for VTK programs and for plugins of viewers such as F3D and ParaView.
//
// The output has the meshes that a viewer draws by default, with normals and texture coordinates if the file has them. CGeo files
// with times have time steps: the snapshot at or before the requested time is read.
#ifndef vtkMeshmapReader_h
#define vtkMeshmapReader_h

#include <vtkPolyDataAlgorithm.h>

#include <string>

class vtkMeshmapReader : public vtkPolyDataAlgorithm {
public:
    static vtkMeshmapReader *New();
    vtkTypeMacro(vtkMeshmapReader, vtkPolyDataAlgorithm);
    void PrintSelf(ostream &os, vtkIndent indent) override;

    void SetFileName(const std::string &name);
    const std::string &GetFileName() const { return this->FileName; }

    // True if the file has one of the formats, by its content.
    static bool CanReadFile(const std::string &name);

protected:
    vtkMeshmapReader();
    int RequestInformation(vtkInformation *, vtkInformationVector **, vtkInformationVector *out) override;
    int RequestData(vtkInformation *, vtkInformationVector **, vtkInformationVector *out) override;

private:
    std::string FileName;
};

#endif
