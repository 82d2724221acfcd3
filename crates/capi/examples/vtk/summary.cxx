// Prints what the VTK reader makes of files: points, triangles and time steps.
//
//     summary FILE..
#include "vtkMeshmapReader.h"

#include <vtkCallbackCommand.h>
#include <vtkCommand.h>
#include <vtkInformation.h>
#include <vtkNew.h>
#include <vtkPointData.h>
#include <vtkPolyData.h>
#include <vtkStreamingDemandDrivenPipeline.h>

#include <cstdio>

int main(int count, char **arguments) {
    int failures = 0;
    for (int i = 1; i < count; ++i) {
        if (!vtkMeshmapReader::CanReadFile(arguments[i])) {
            std::fprintf(stderr, "%s: none of the formats\n", arguments[i]);
            ++failures;
            continue;
        }
        vtkNew<vtkMeshmapReader> reader;
        vtkNew<vtkCallbackCommand> failed;
        failed->SetClientData(&failures);
        failed->SetCallback([](vtkObject *, unsigned long, void *failures, void *text) {
            std::fprintf(stderr, "%s\n", static_cast<const char *>(text));
            ++*static_cast<int *>(failures);
        });
        reader->AddObserver(vtkCommand::ErrorEvent, failed);
        reader->SetFileName(arguments[i]);
        reader->UpdateInformation();
        const int steps = reader->GetOutputInformation(0)->Length(vtkStreamingDemandDrivenPipeline::TIME_STEPS());
        if (steps > 0) {
            const double *times = reader->GetOutputInformation(0)->Get(vtkStreamingDemandDrivenPipeline::TIME_STEPS());
            reader->UpdateTimeStep(times[steps - 1]);
        } else {
            reader->Update();
        }
        vtkPolyData *data = reader->GetOutput();
        std::printf("%s: %lld points, %lld triangles, %d time steps%s%s\n", arguments[i],
                    static_cast<long long>(data->GetNumberOfPoints()), static_cast<long long>(data->GetNumberOfPolys()), steps,
                    data->GetPointData()->GetNormals() ? ", normals" : "",
                    data->GetPointData()->GetTCoords() ? ", texture coordinates" : "");
    }
    return failures == 0 ? 0 : 1;
}
